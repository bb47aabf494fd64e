; Program: a picture of objects: ten a line, priority by place and order, behind the background

    include "lib.asm"
    include "objects.asm"
    header "MICRO SPRITES", $00

; y, x, tile, attributes: forty objects.
objects:
    db 60, 20, 1, $00   ; moves
; Twelve on the same lines: the last two are not drawn, though they are on the left.
    db 24, 150, 1, $00, 24, 140, 3, $20, 24, 130, 3, $40, 24, 120, 3, $60, 24, 110, 1, $10
    db 24, 100, 3, $30, 24, 90, 1, $00, 24, 80, 1, $00, 24, 70, 1, $00, 24, 60, 1, $00
    db 24, 20, 3, $00, 24, 30, 3, $00
; Overlapping ones: the smaller x is in front, and of equal ones the first.
    db 50, 24, 1, $00, 50, 20, 3, $00, 50, 28, 3, $10
    db 50, 60, 3, $00, 50, 60, 1, $00
    db 50, 92, 1, $10, 50, 88, 3, $00, 50, 90, 3, $40
; Behind the background.
    db 80, 24, 1, $80, 80, 40, 3, $A0
    db 80, 60, 1, $80, 80, 82, 1, $00
    db 80, 104, 3, $C0, 80, 108, 1, $00
; At the edges.
    db 100, 1, 1, $00, 100, 7, 3, $00, 100, 8, 1, $00, 100, 160, 1, $00, 100, 167, 1, $00
    db 100, 168, 1, $00, 9, 40, 1, $00, 16, 50, 3, $00, 159, 40, 1, $00, 160, 60, 1, $00
    db 154, 80, 3, $00, 120, 255, 1, $00, 120, 4, 3, $30
