"""Files and folders that are written safely, and that never belong to others.

- `atomic_files`: a file is written whole or not at all
- `folder_lock`: one process at a time writes in a folder
- `own_files`: which files of a folder we wrote, and their removal
- `previous_files`: what a command finds in the folder it is to write to
"""
