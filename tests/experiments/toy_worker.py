"""Works on pieces as a process of accelerators does, by their names, without JAX: `python toy_worker.py DEVICES LOCK NUMBER`."""

import json
import os
import subprocess
import sys
import time


def say(told):
    print(json.dumps(told), flush=True)


if __name__ == "__main__":
    say({"ready": {"device": "Toy 3000", "platform": "toy", "devices": int(sys.argv[1]), "versions": {"jax": "1.2.3"}}})
    for line in sys.stdin:
        piece = json.loads(line)
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
            say({"row": {"iterations": 3, "first_seconds": 1.0, "later_seconds": 0.5, "losses": [2.0, 1.0]}})
        else:
            row = {"unit": "steps", "batch": 8, "per_wall_second": 1234.0, "compile_seconds": 0.1, "platform": "toy"}
            say({"row": row | ({"per_cpu_second": 617.0, "platform": "cpu"} if piece["part"] == "core" else {})})
        say({"ended": 0.02, "failed": "", "full": piece["name"] == "large"})
