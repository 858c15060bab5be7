"""Works on pieces as a process of accelerators does, by their names, without JAX: `python toy_worker.py [WORDS] LOCK NUMBER`.

Words say how it begins: `tpu` or `cpu` is its platform, `lost` dies, `lost_again` dies but in the first process of a call,
`others_die` and `others_fall` are for all but number 0 (they die, or find the CPU), `edited` finds changes but in the first.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path


def say(told):
    print(json.dumps(told), flush=True)


if __name__ == "__main__":
    *words, lock, number = sys.argv[1:]
    with Path(f"{lock}.starts").open("a") as file:
        file.write("x")
        started = file.tell()
    if "lost" in words or ("lost_again" in words and started > 1) or ("others_die" in words and int(number)):
        print("no device for me", file=sys.stderr, flush=True)
        os._exit(5)
    falls = "others_fall" in words and int(number)
    platform = "cpu" if falls else next((word for word in words if word in ("tpu", "cpu")), "gpu")
    about = {"device": "Toy CPU" if falls else "Toy 3000", "platform": platform, "devices": 1, "versions": {"jax": "1.2.3"}}
    say({"ready": about | {"commit": "abc+changes" if "edited" in words and started > 1 else "abc"}})
    for line in sys.stdin:
        piece = json.loads(line)
        if piece["name"].startswith("waits"):  # for so many to have started
            while Path(f"{lock}.starts").stat().st_size < int(piece["name"][-1]):
                time.sleep(0.01)
            time.sleep(0.5)  # and to be ready, or to be found dead
        if piece["name"] == "late":
            time.sleep(60)
        if piece["name"] == "parent":
            subprocess.run(["sleep", "61.25"])
        if piece["name"] == "dies":
            print("a last word", file=sys.stderr, flush=True)
            os._exit(7)
        if piece["name"] == "fails":
            say({"ended": 0.0, "failed": "ValueError: too many legs"})
            continue
        time.sleep(0.02)
        if piece["part"] == "checks":
            say(
                {
                    "row": {
                        "compared": "legs",
                        "same": piece["name"] != "other",
                        "differs": "",
                        "left": piece["seconds"],
                        "process": os.getpid(),
                    }
                }
            )
        elif piece["part"] == "learners":
            row = {"iterations": 3, "first_seconds": 1.0, "later_seconds": 0.5, "losses": [2.0, 1.0]}
            say({"row": row | {"began": time.monotonic() - 0.02}})
        else:
            row = {"unit": "steps", "batch": 8, "per_wall_second": 1234.0, "compile_seconds": 0.1, "platform": "gpu"}
            say({"row": row | ({"per_cpu_second": 617.0, "platform": "cpu"} if piece["part"] == "core" else {})})
        say({"ended": 0.02, "failed": "", "spent": piece["name"] == "large"})
