"""When this process began; the script imports it before anything that takes long."""

import time

STARTED = time.monotonic()
