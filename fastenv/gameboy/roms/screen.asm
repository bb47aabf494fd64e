; For small programs: a screen with one line of text. After it the program goes on at main, with
; interrupts off and the LCD on.

    org $0100
    nop
    jp start

    org $0150
start:
    di
    ld sp, $FFFE
    ldh a, [LCDC]
    add a
    jr nc, .off
.wait:
    ldh a, [LY]
    cp 144
    jr nz, .wait
    xor a
    ldh [LCDC], a
.off:
    ld hl, TILES + $20 * 16
    ld de, font
    ld bc, font_end - font
.font:
    ld a, [de]
    inc de
    ld [hl+], a
    dec bc
    ld a, b
    or c
    jr nz, .font
    ld hl, SCREEN
    ld bc, $400
.clear:
    ld a, ' '
    ld [hl+], a
    dec bc
    ld a, b
    or c
    jr nz, .clear
    ld hl, SCREEN + 8 * 32 + 2
    ld de, message
.message:
    ld a, [de]
    inc de
    ld [hl+], a
    and a
    jr nz, .message
    ld a, ' '
    dec hl
    ld [hl], a
    ld a, %11100100
    ldh [BGP], a
    xor a
    ldh [SCX], a
    ldh [SCY], a
    ldh [IF_FLAGS], a
    ld a, %10010001
    ldh [LCDC], a
    jp main

    include "font.asm"
