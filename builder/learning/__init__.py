"""What every model is trained with.

In: training items, settings, a device. Out: `loop` trains, `checkpoint` keeps and resumes, `obtain` loads a base model
from a folder or the hub, `pieces` and `encode` turn texts into batches, `devices` and `processes` say where it runs.

Start reading at `task`, which names what a model is given and what it answers, then `loop`.
"""
