; Program: a picture of objects that are behind the background and hide others all the same
; PyBoy: it shows the objects behind them

    include "lib.asm"
    include "objects.asm"
    header "MICRO MASK", $00

; y, x, tile, attributes
objects:
    db 60, 20, 1, $00   ; moves
    db 80, 60, 1, $80, 80, 62, 1, $00
    db 100, 60, 3, $80, 100, 60, 1, $00
    db 120, 40, 1, $00, 120, 38, 3, $90, 120, 44, 1, $00
    ds 160 - 8 * 4
