"""Speaks the protocol well or badly: `python partner.py BEHAVIOUR TAG [SEED]`. Plain Python, shares nothing with the project."""

import os
import random
import signal
import subprocess
import sys
import time

SETUP = ["F888B2BBBB", "8847777666", "B655554433", "s199999999"]


def say(text):
    os.write(1, (text + "\n").encode())


def read():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return line.rstrip("\n")


def board():
    """Skips to the next board, and leaves at QUIT."""
    rows = []
    while len(rows) < 10:
        line = read()
        if line.startswith("QUIT"):
            sys.exit(0)
        rows = [*rows, line] if len(line) == 10 and " " not in line else []
    return rows


def moves(rows):
    for y in range(10):
        for x in range(10):
            if rows[y][x] not in "s123456789":
                continue
            for name, dx, dy in (("UP", 0, -1), ("DOWN", 0, 1), ("LEFT", -1, 0), ("RIGHT", 1, 0)):
                for far in range(1, 10 if rows[y][x] == "9" else 2):
                    u, v = x + far * dx, y + far * dy
                    if not (0 <= u < 10 and 0 <= v < 10) or rows[v][u] not in ".#":
                        break
                    yield f"{x} {y} {name}" + (f" {far}" if far > 1 else "")
                    if rows[v][u] == "#":
                        break


def set_up():
    for row in SETUP if read().startswith("RED") else SETUP[::-1]:
        say(row)


def play(count=10**9):
    rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 0)
    for _ in range(count):
        say(rng.choice(list(moves(board()))))


def sleep():
    time.sleep(600)


def play_well():
    set_up()
    play()


def hang():
    sleep()


def hang_in_game():
    set_up()
    play(2)
    sleep()


def die():
    sys.exit(3)


def die_in_game():
    set_up()
    play(2)
    sys.stderr.write("some line\nout of ideas\n")
    os._exit(7)


def be_killed_in_game():
    set_up()
    board()
    os.kill(os.getpid(), signal.SIGKILL)


def flood():
    set_up()
    board()
    while True:
        os.write(1, b"0 3 DOWN" * 10000)


def flood_lines():
    set_up()
    while True:
        os.write(1, b"0 3 DOWN\n" * 10000)


def garble():
    set_up()
    board()
    say("\x00\xff\u2603 {}".format("DOWN"))
    sleep()


def say_half():
    set_up()
    board()
    os.write(1, b"0 3 DO")
    sleep()


def close_output():
    set_up()
    board()
    os.close(1)
    sleep()


def ignore_signals():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    set_up()
    board()
    sleep()


def complain():
    """Writes to stderr without end and answers all the same."""
    if os.fork() == 0:
        while True:
            os.write(2, b"why " * 1000)
    play_well()


def leave_child():
    """Has a child that is in a session of its own, and hangs."""
    command = [sys.executable, "-I", "-S", __file__, "sleep", sys.argv[2]]
    subprocess.Popen(command, start_new_session=True, stdin=subprocess.DEVNULL)
    hang()


def surrender():
    set_up()
    board()
    say("SURRENDER")
    sleep()


def move_a_bomb():
    set_up()
    board()
    say("4 0 DOWN")
    sleep()


def set_up_eight():
    """Sets up the pieces of Barrage, its marshal in the corner of its front row."""
    rows = ["F.........", "..........", "B.........", "12s899...."]
    for row in rows if read().startswith("RED") else rows[::-1]:
        say(row)
    play()


def forget_a_piece():
    read()
    for row in ["F888B2BBB.", *SETUP[1:]]:
        say(row)
    sleep()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
