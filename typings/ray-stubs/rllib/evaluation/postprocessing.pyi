class Postprocessing:
    ADVANTAGES: str
    VALUE_TARGETS: str
