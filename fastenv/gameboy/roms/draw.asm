; What Lantern Walk draws: texts and other changes of video memory, and objects.

; ---- video memory, in VBlank ---------------------------------------------------------------------

DARK_FLY equ $E0    ; palettes of what drifts
BRIGHT_FLY equ $C0

draw:
    ld a, [mode]
    and a
    jr z, draw_night
    cp MODE_WALK
    ret nz
    ld a, [redraw]
    cp NONE
    jr z, .drawn
    ld l, a
    ld h, high(cells)
    call draw_cell
    ld a, NONE
    ld [redraw], a
    ret
.drawn:
    ld a, [dialogue]
    and a
    jr nz, draw_text
    ld a, [frame]
    ld b, a
    and %00001111
    ret nz
; Every 16 frames fireflies go on or off, and the water has its next picture.
    ld a, b
    and %00110000
    ld e, a
    ld d, 0
    ld a, DARK_FLY
    jr nz, .fly
    ld a, BRIGHT_FLY
.fly:
    ldh [OBP1], a
    ld hl, water_pictures
    add hl, de
    ld d, h
    ld e, l
    ld hl, TILES + WATER * 16
    ld bc, 16
    jp copy

draw_night:
    ld a, [done]
    and a
    ret nz
    ld hl, SCREEN + 17 * 32 + 4
    ld de, press_start
    ld a, [frame]
    bit 5, a
    jp z, print
    ld b, 11
    ld a, ' '
.blank:
    ld [hl+], a
    dec b
    jr nz, .blank
    ret

draw_text:
    ld a, [text_state]
    cp TEXT_MORE
    jp z, draw_mark
    ret nc
    and a
    jr nz, clear_text
; One letter a frame, four while a button is held.
    ld a, [held]
    and BUTTON_A | BUTTON_B
    ld b, 1
    jr z, .speed
    ld b, 4
.speed:
    ld hl, text
    ld a, [hl+]
    ld d, [hl]
    ld e, a
    ld hl, cursor
    ld a, [hl+]
    ld h, [hl]
    ld l, a
.letter:
    ld a, [de]
    inc de
    cp ' '
    jr c, .control
.put:
    ld [hl+], a
    dec b
    jr nz, .letter
.store:
    ld a, l
    ld [cursor], a
    ld a, h
    ld [cursor + 1], a
    ld a, e
    ld [text], a
    ld a, d
    ld [text + 1], a
    ret
.control:
    cp COUNT
    jr z, .count
    cp LINE
    jr z, .line
    cp PAGE             ; PAGE or END
    ld a, TEXT_MORE
    jr z, .state
    ld a, TEXT_CLOSE
.state:
    ld [text_state], a
    jr .store
.count:
    ld a, [items]
    add '0'
    jr .put
.line:
    ld a, l
    and %11100000
    add 33
    ld l, a
    jr .letter

; Empty the box; once the lanterns are lit, show it.
clear_text:
    ld hl, TEXT_TOP
    ld a, l
    ld [cursor], a
    ld a, h
    ld [cursor + 1], a
    ld a, ' '
    ld c, 3
.row:
    ld b, LINE_LENGTH / 2
.pair:
    ld [hl+], a
    ld [hl+], a
    dec b
    jr nz, .pair
    ld de, 32 - LINE_LENGTH
    add hl, de
    dec c
    jr nz, .row
    ld a, '_'
    ld [TEXT_MARK], a
    ld a, TEXT_TYPING
    ld [text_state], a
    ld hl, quest
    bit QUEST_LIT, [hl]
    ret z
    ld hl, TILES + LANTERN * 16
    ld de, lit_lantern
    ld bc, 32
    jp copy

; Blink the mark that more follows, in the frame of the box.
draw_mark:
    ld a, [frame]
    and %00010000
    ld a, '~'
    jr z, .put
    ld a, '_'
.put:
    ld [TEXT_MARK], a
    ret

; ---- objects -------------------------------------------------------------------------------------

; Pictures of the hero by facing: standing, stepping.
hero_pictures:
    db HERO_DOWN, HERO_DOWN_STEP
    db HERO_UP, HERO_UP_STEP
    db HERO_LEFT, HERO_LEFT_STEP
    db HERO_LEFT, HERO_LEFT_STEP

PALETTE_1 equ %00010000
FLIP equ %00100000
BEHIND equ %10000000

; Write the hero's four objects at x d, y e (as OAM counts them). c is his picture, b its attributes.
draw_hero:
    ld a, [facing]
    ld c, a
    add a
    ld hl, hero_pictures
    add l
    ld l, a
    jr nc, .same
    inc h
.same:
    ld a, [move]
    and %00001000
    jr z, .picture
    inc hl
.picture:
    ld b, 0
    bit 1, c
    jr nz, .sideways
    and a               ; one foot, then the other
    jr z, .flipped
    ld a, [steps]
    rrca
    jr .carry
.sideways:
    ld a, c
    rrca                ; the right is the left, flipped
.carry:
    jr nc, .flipped
    ld b, FLIP
.flipped:
    ld c, [hl]
    bit 5, b
    jr z, .write
    inc c
.write:
    ld hl, oam
    call hero_row
    ld a, e
    add 8
    ld e, a
    ld a, [feet]
    or b
    ld b, a
    call hero_row
    ld a, e
    sub 8
    ld e, a
    ret

; Two objects side by side; not where the text box is, which would be behind them.
hero_row:
    ld a, [dialogue]
    and a
    ld a, e
    jr z, .row
    cp WINDOW_TOP + 9
    jr c, .row
    xor a
.row:
    ld [hl+], a
    ld [hl], d
    inc l
    ld [hl], c
    inc l
    ld [hl], b
    inc l
    ld [hl+], a
    ld a, d
    add 8
    ld [hl+], a
    ld a, c
    xor 1
    ld [hl+], a
    ld [hl], b
    inc l
    inc c
    inc c
    ret

; Find out whether the feet are in tall grass, where the background is before them.
look_at_feet:
    ld a, [py]
    add 8
    and $F0
    ld l, a
    ld a, [px]
    add 8
    swap a
    and $0F
    or l
    ld l, a
    ld h, high(cells)
    call attributes
    and DEEP
    jr z, .store
    ld a, BEHIND
.store:
    ld [feet], a
    ret

; ---- fireflies, leaves and dust ------------------------------------------------------------------

; Strew what drifts in the current map, and write tiles and attributes of its objects: every other one
; is behind the background.
place_drifting:
    ld hl, drifting
    ld a, [map]
    ld c, a
    add 37
.place:
    ld [hl+], a
    add 83
    bit 4, l
    jr z, .place
    ld b, 0
    ld hl, drifts
    add hl, bc
    add hl, bc
    add hl, bc
    ld a, [hl+]
    ld d, a
    ld a, [hl+]
    ld e, a
    ld a, [hl]
    ld [drift_down], a
    ld hl, oam + 4 * 4 + 2
    ld bc, 3
.pair:
    ld a, d
    ld [hl+], a
    ld a, PALETTE_1
    ld [hl], a
    add hl, bc
    ld a, e
    ld [hl+], a
    ld a, PALETTE_1 | BEHIND
    ld [hl], a
    add hl, bc
    ld a, l
    cp low(oam) + 12 * 4
    jr c, .pair
    ret

; What drifts in a map: two tiles, and how far down it goes in a move.
drifts:
    db FIREFLY, FIREFLY + 1, 0
    db MOTE, MOTE, 0
    db MOTE, MOTE, 1

; Move what drifts every eight frames, and put one half of it into OAM; nothing drifts behind a text
; box.
draw_drifting:
    ld a, [frame]
    and %00000111
    call z, move_drifting
    ld a, [dialogue]
    and a
    jr nz, hide_drifting
    push de
    ld a, [camera_y]
    ld b, a
    ld a, [camera_x]
    ld c, a
    ld de, drifting
    ld hl, oam + 4 * 4
    ld a, [frame]
    rrca
    jr nc, .object
    ld e, low(drifting) + 8
    ld l, low(oam) + 8 * 4
.object:
    ld a, [de]
    inc e
    sub b
    ld [hl+], a
    ld a, [de]
    inc e
    sub c
    ld [hl+], a
    inc l
    inc l
    ld a, e
    and 7
    jr nz, .object
    pop de
    ret

hide_drifting:
    ld hl, oam + 4 * 4
    ld bc, 4
.object:
    ld [hl], b
    add hl, bc
    ld a, l
    cp low(oam) + 12 * 4
    jr nz, .object
    ret

; Each goes one pixel this way or that.
move_drifting:
    push de
    ld a, [frame]
    and %00001000
    rrca
    rrca
    rrca
    dec a
    ld e, a             ; -1 and 0 in turns, to which a random 0 or 1 is added
    ld a, [drift_down]
    add e
    ld d, a
    ld a, [rng]
    ld c, a
    ld hl, drifting
.object:
    rlc c
    ld a, [hl]
    adc d
    ld [hl+], a
    rlc c
    ld a, [hl]
    adc e
    ld [hl+], a
    bit 4, l
    jr z, .object
    pop de
    ret
