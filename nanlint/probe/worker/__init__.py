"""The probe worker: a self-contained program that runs slices of a value graph in torch and tries to break them.

Run as `python nanlint/probe/worker` by any interpreter (3.8 or later) that has torch (2.0 or later); nothing in this folder
imports anything outside it but torch. It reads one JSON request a line on stdin and answers one JSON object a line on stdout:

    {"do": "hello"}                                          -> {"torch": "2.13.0", "python": "3.11.2", ...}
    {"do": "probe", "slice": {...}, "seconds": 2.0}          -> {"verdict": "broken", "guilty": 3, "inputs": {...}, ...}
    {"do": "replay", "frozen": {...}}                        -> the same answer again
    {"do": "compare", "old": ..., "new": ..., "frozen": ...} -> {"agrees_on": 120, "worst_relative_error": 1e-7, ...}
    {"do": "quit"}

No text is ever evaluated. A `call` is one attribute of a fixed list of roots, and that attribute must itself be on the list
(`calls.py`): the tensor functions of torch (never `torch.load`, `torch.ops`, ...), pure methods of torch.Tensor, arithmetic of
`operator` and `math`, and the builtin words (`words.py`). A slice therefore cannot read a file, start a process or open a socket.
"""
