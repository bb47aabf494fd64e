"""Read files that somebody has damaged, thousands of them: none may end in a traceback.

``python -m tools.mutate_files KIND... --count 10000 --seed 0`` makes an original of each kind,
changes it a little, reads the result as the program does, and so on until ``--count`` files have
been read. A file is accepted, or refused by an error of ours in one sentence; everything else is a
crash: another exception, a message of many lines, the death of the process, more than 1 GiB above
what it had at its start, or more than 5 seconds. The end is a table, and exit status 1 if there
were crashes. What was found is kept in ``--folder``; the same command goes on from there.

``--only NUMBER`` reads one of the files again, with its traceback, and ``--keep FOLDER`` leaves it
there. A kind is added in ``kinds.py``.
"""
