; Program: what the LCD shows of itself when it is turned off and on
; PyBoy: it lets the processor read video memory in mode 3 with most instructions

    include "lib.asm"
    header "MICRO LCD", $00

main:
    call lcd_off
    ldh a, [LY]
    call expect
    db 0
    ldh a, [STAT]
    and %00000011
    call expect
    db 0
    ld a, 50
    call wait_tens
    ldh a, [LY]
    call expect
    db 0
; All video memory is free.
    ld hl, TILES
    ld [hl], $A5
    ld a, [hl]
    call expect
    db $A5
    ld hl, OAM
    ld [hl], $5A
    ld a, [hl]
    call expect
    db $5A
; The first line begins with mode 0, then mode 3; lines are 114 machine cycles long.
    ld a, %10000000
    ldh [LCDC], a
    ldh a, [STAT]
    and %00000011
    call expect
    db 0
    call lcd_off
    ld a, %10000000
    ldh [LCDC], a
    ld a, 4
    call wait_tens
    ldh a, [STAT]
    and %00000011
    call expect
    db 3
    call lcd_off
    ld a, %10000000
    ldh [LCDC], a
    ld a, 9
    call wait_tens
    ldh a, [STAT]
    and %00000011
    call expect
    db 0
    call lcd_off
    ld a, %10000000
    ldh [LCDC], a
    ld a, 10
    call wait_tens
    ldh a, [LY]
    call expect
    db 0
    call lcd_off
    ld a, %10000000
    ldh [LCDC], a
    ld a, 12
    call wait_tens
    ldh a, [LY]
    call expect
    db 1
; In mode 3 video memory is not there.
    call lcd_off
    ld a, $A5
    ld [TILES], a
    ld a, %10000000
    ldh [LCDC], a
    ld a, 4
    call wait_tens
    ld a, [TILES]
    call expect
    db $FF
    call lcd_off
    ld a, %10000000
    ldh [LCDC], a
    ld a, 4
    call wait_tens
    ld a, $77
    ld [TILES], a
    call lcd_off
    ld a, [TILES]
    call expect
    db $A5
    jp pass
