#!/usr/bin/python3
"""The tests of test_python_client, in a Python without numpy."""

import os
import sys
from pathlib import Path

os.execv(sys.executable, [sys.executable, str(Path(__file__).with_name("test_python_client.py")), "without-numpy"])
