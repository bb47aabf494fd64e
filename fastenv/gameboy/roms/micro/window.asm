; Program: a picture of the window, which counts its own lines

    include "lib.asm"

    org $0040
    jp on_vblank
    org $0048
    jp on_line

    header "MICRO WINDOW", $00

    org $1000
main:
    call lcd_off
    ld hl, TILES
    ld de, tiles
    ld b, tiles_end - tiles
.tiles:
    ld a, [de]
    inc de
    ld [hl+], a
    dec b
    jr nz, .tiles
    ld hl, SCREEN
    ld bc, $400
    ld d, 0
    call fill
    ld bc, $400
    ld d, 1
    call fill
    ld a, %11100100
    ldh [BGP], a
    ld a, 40
    ldh [WY], a
    ld a, 87
    ldh [WX], a
    xor a
    ldh [LYC], a
    ldh [SCX], a
    ldh [SCY], a
    ldh [IF_FLAGS], a
    ld a, %01000000
    ldh [STAT], a
    ld a, %11110001
    ldh [LCDC], a
    ld a, %00000011
    ldh [IE], a
    ld c, 16
    ei
.frame:
    nop
    halt
    nop
    dec c
    jr nz, .frame
    jp pass

fill:
    ld a, c
    and 1
    add d
    ld [hl+], a
    dec bc
    ld a, b
    or c
    jr nz, fill
    ret

; From line 60 to line 90 there is no window; its lines go on where they were. All is changed in mode
; 0, for a window may begin in the line that is being drawn.
on_line:
    push af
.drawn:
    ldh a, [STAT]
    and %00000011
    jr nz, .drawn
    ldh a, [LY]
    cp 60
    jr c, .first
    jr z, .off
    ld a, %11110001
    ldh [LCDC], a
    ld a, 120
    ldh [WX], a
    xor a
    jr .next
.off:
    ld a, %11010001
    ldh [LCDC], a
    ld a, 90
    jr .next
.first:
    ld a, 60
.next:
    ldh [LYC], a
    pop af
    reti

on_vblank:
    push af
    ldh a, [WY]
    inc a
    and %00001111       ; while the window is on: PyBoy looks at WY without it, too
    or %00100000
    ldh [WY], a
    ldh a, [SCX]
    inc a
    ldh [SCX], a
    ld a, 47
    ldh [WX], a
    pop af
    reti

tiles:
    gfx
    ........
    .---....
    .---....
    ........
    ........
    ....---.
    ....---.
    ........
    endgfx
    gfx
    ########
    #oooooo#
    ########
    #------#
    ########
    #oo--oo#
    ########
    #......#
    endgfx
    gfx
    ########
    ooo#ooo#
    ########
    --#---#-
    ########
    o#oooo#o
    ########
    ........
    endgfx
tiles_end:
