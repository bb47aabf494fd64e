class Columns:
    OBS: str
    REWARDS: str
    TERMINATEDS: str
    LOSS_MASK: str
    ACTION_DIST_INPUTS: str
