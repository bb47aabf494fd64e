; A picture of forty objects, which the program that includes this lists from objects on. The first one
; moves, and all change their size from frame to frame.

    org $0040
    jp on_vblank

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
; Stripes as background: tile 2 in every other column.
    ld hl, SCREEN
    ld de, 32 * 32
.screen:
    ld a, l
    and 2
    ld [hl+], a
    dec de
    ld a, d
    or e
    jr nz, .screen
    ld hl, OAM
    ld de, objects
    ld b, 160
.objects:
    ld a, [de]
    inc de
    ld [hl+], a
    dec b
    jr nz, .objects
    ld a, %11100100
    ldh [BGP], a
    ldh [OBP0], a
    ld a, %00011011
    ldh [OBP1], a
    ld a, %10010011
    ldh [LCDC], a
    ld a, 1
    ldh [IE], a
    xor a
    ldh [IF_FLAGS], a
    ld c, 8
    ei
; Let it move for some frames.
.frame:
    nop
    halt
    nop
    dec c
    jr nz, .frame
    jp pass

; One object goes across the others; sizes change.
on_vblank:
    push af
    push hl
    ld hl, OAM + 1
    inc [hl]
    ldh a, [LCDC]
    xor %00000100
    ldh [LCDC], a
    pop hl
    pop af
    reti

tiles:
    gfx
    ........
    ........
    ........
    ........
    ........
    ........
    ........
    ........
    endgfx
    gfx
    --------
    -oooooo#
    -o....o#
    -o.##.o#
    -o.##.o#
    -o....o#
    -oooooo#
    ########
    endgfx
    gfx
    oo..oo..
    oo..oo..
    oo..oo..
    oo..oo..
    oo..oo..
    oo..oo..
    oo..oo..
    oo..oo..
    endgfx
    gfx
    #.......
    ##......
    #-#.....
    #--#....
    #---#...
    #----#..
    #-----#.
    ########
    endgfx
tiles_end:
