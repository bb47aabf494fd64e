; The world of Lantern Walk: maps and doors, walking, talking and looking.

; ---- the world -----------------------------------------------------------------------------------

load_world_tiles:
    ld hl, TILES + $80 * 16
    ld de, world_tiles
    ld bc, world_tiles_end - world_tiles
    call copy
    ld hl, WINDOW_SCREEN
    ld de, text_box
    ld b, 5
.row:
    ld a, [de]          ; left, 18 times the middle, right
    inc de
    ld [hl+], a
    ld a, [de]
    inc de
    ld c, LINE_LENGTH
.middle:
    ld [hl+], a
    dec c
    jr nz, .middle
    ld a, [de]
    inc de
    ld [hl+], a
    ld a, l
    add 12
    ld l, a
    dec b
    jr nz, .row
    ld a, WINDOW_TOP
    ldh [WY], a
    ld a, 7
    ldh [WX], a
    ret

text_box:
    db "[\]"
    db "{ }"
    db "{ }"
    db "{ }"
    db "^_`"

; Go through the door: load its map and put the hero behind it.
load_map:
    ld hl, door
    ld a, [hl+]
    ld [map], a
    ld a, [hl+]
    ld b, a
    and $0F
    ld [x], a
    swap a
    ld [px], a
    ld a, b
    swap a
    and $0F
    ld [y], a
    swap a
    ld [py], a
    ld a, [hl]
    ld [facing], a
    xor a
    ld [move], a
    call load_cells
    call draw_cells
    call place_drifting
    call look_at_feet
    call move_camera
    ldh [SCY], a
    ld a, [camera_x]
    ldh [SCX], a
    call draw_walk
    ld a, [map]
    cp CELLAR
    ld a, LIGHT_DAY
    jr nz, .light
    ld a, [quest]
    cpl
    and 1 << QUEST_FLAME    ; dark as long as we have no flame
.light:
    ld [light], a
    ret

; Fill cells with the kinds of the current map; taken candles are gone.
load_cells:
    ld a, [map]
    add high(maps)
    ld d, a
    ld e, low(maps)
    ld hl, cells
.cell:
    push hl
    ld a, [de]
    call kind_of_sign
    ld c, a
    pop hl
    ld [hl], c
    call attributes
    and ITEM
    jr z, .next
    push hl
    call item_flag
    and [hl]
    pop hl
    jr z, .next
    call take_away
.next:
    inc de
    inc l
    jr nz, .cell
    ret

; Return in a the kind with sign a.
kind_of_sign:
    ld hl, kinds
    ld bc, KIND_SIZE
.kind:
    cp [hl]
    jr z, .found
    add hl, bc
    jr .kind
.found:
    ld bc, -kinds
    add hl, bc
    srl h               ; the distance divided by KIND_SIZE
    rr l
    srl h
    rr l
    srl h
    rr l
    ld a, l
    ret

; Return in a the attributes of the cell at hl.
attributes:
    ld a, [hl]
    push hl
    call kind_of
    inc hl
    ld a, [hl]
    pop hl
    ret

; Put what is under an item into the cell at hl.
take_away:
    ld a, [hl]
    push hl
    call kind_of
    inc hl
    inc hl
    inc hl
    ld a, [hl]
    pop hl
    ld [hl], a
    ret

; For the item in the cell at hl return in hl the byte of its flag and in a its bit.
item_flag:
    ld a, l
    and $0F             ; x
    ld b, a
    ld a, l
    swap a
    and $0F             ; y
    ld c, a
    add a
    add b
    and 7
    inc a
    ld b, a
    ld a, [map]
    add a
    add a
    srl c
    srl c
    add c
    add low(flags)
    ld l, a
    ld h, high(flags)
    ld a, %10000000
.bit:
    rlca
    dec b
    jr nz, .bit
    ret

; Draw the whole map; the LCD is off.
draw_cells:
    ld hl, cells
.cell:
    call draw_cell
    inc l
    jr nz, .cell
    ret

; Draw the cell at hl.
draw_cell:
    push hl
    ld a, l
    and $F0             ; y * 16, y * 64 / 4
    ld e, a
    ld d, 0
    ld a, l
    and $0F
    ld c, a
    ld a, [hl]
    ld l, e
    ld h, d
    add hl, hl
    add hl, hl
    ld e, c
    add hl, de
    ld d, 0
    add hl, de
    ld de, SCREEN
    add hl, de
    ld d, h
    ld e, l
    call kind_of
    inc hl
    inc hl
    inc hl
    inc hl
    ld a, [hl+]
    ld [de], a
    inc e
    ld a, [hl+]
    ld [de], a
    ld a, e
    add 31
    ld e, a
    ld a, [hl+]
    ld [de], a
    inc e
    ld a, [hl]
    ld [de], a
    pop hl
    ret

; Centre the screen on the hero as far as the map reaches; return camera_y in a.
move_camera:
    ld a, [px]
    sub 72
    jr nc, .right
    xor a
.right:
    cp 96
    jr c, .across
    ld a, 96
.across:
    ld [camera_x], a
    ld a, [py]
    sub 64
    jr nc, .below
    xor a
.below:
    cp 112
    jr c, .down
    ld a, 112
.down:
    ld [camera_y], a
    ret

; ---- a frame of the world ------------------------------------------------------------------------

walk:
    ld a, [dialogue]
    and a
    jr z, .free
    call text_buttons
    jr .moved
.free:
    ld a, [move]
    and a
    call z, start_walk
    ld a, [move]
    and a
    call nz, go_on
.moved:
; Put the hero and what drifts about into OAM.
draw_walk:
    ld a, [camera_x]
    ld b, a
    ld a, [px]
    sub b
    add 8
    ld d, a
    ld a, [camera_y]
    ld b, a
    ld a, [py]
    sub b
    add 12              ; four pixels above the cell, so that he stands in it
    ld e, a
    call draw_hero
    call draw_drifting
    ld a, [quest]
    and 1 << QUEST_FLAME | 1 << QUEST_SONG
    cp 1 << QUEST_FLAME
    ret nz
; The flame we carry bobs beside us.
    ld hl, oam + 12 * 4
    ld a, [frame]
    rrca
    rrca
    rrca
    and 1
    add e
    add 4
    ld [hl+], a
    ld a, d
    add 11
    ld [hl+], a
    ld [hl], FLAME
    inc l
    ld [hl], 0
    ret

; What a button does when the hero stands.
start_walk:
    ld a, [new]
    and BUTTON_A
    jp nz, look
    ld a, [held]
    and BUTTON_DOWN | BUTTON_UP | BUTTON_LEFT | BUTTON_RIGHT
    ret z
    ld b, 0             ; down
    rlca
    jr c, .face
    inc b               ; up
    rlca
    jr c, .face
    inc b               ; left
    rlca
    jr c, .face
    inc b               ; right
.face:
    ld a, b
    ld [facing], a
    call faced_cell
    call attributes
    and SOLID
    ret nz
    ld a, 16
    ld [move], a
    ret

; Return in hl the cell that the hero faces.
faced_cell:
    ld a, [facing]
    ld hl, steps_of
    add l
    ld l, a
    jr nc, .same
    inc h
.same:
    ld b, [hl]
    call hero_cell
    add b
    ld l, a
    ld h, high(cells)
    ret

steps_of:
    db 16, -16, -1, 1

; Return in a the place of the hero's cell, y in the high digit.
hero_cell:
    ld a, [y]
    swap a
    ld c, a
    ld a, [x]
    or c
    ret

; One pixel of a walk.
go_on:
    ld hl, px
    ld a, [facing]
    bit 1, a
    jr nz, .across
    inc l               ; py
    xor 1               ; down is like right, up is like left
.across:
    and 1
    jr nz, .add
    dec [hl]
    dec [hl]
.add:
    inc [hl]
    call move_camera
    ld hl, move
    dec [hl]
    ld a, [hl]
    and %00000111
    ret nz
    call look_at_feet   ; in the middle between two cells, and at the end
    ld a, [move]
    and a
    ret nz
; The walk is over.
    ld a, [px]
    swap a
    ld [x], a
    ld a, [py]
    swap a
    ld [y], a
    ld hl, steps
    inc [hl]
    jr nz, .counted
    inc l
    inc [hl]
.counted:
    call hero_cell
    ld l, a
    ld h, high(cells)
    call attributes
    bit 1, a            ; DOORWAY
    jr nz, enter
    and ITEM
    ret z
    ld a, l
    ld [redraw], a
    push hl
    call item_flag
    or [hl]
    ld [hl], a
    pop hl
    call take_away
    ld hl, items
    inc [hl]
    call chime
    ld a, FOUND
    jp open_text

; Go through the door at l.
enter:
    ld c, l
    ld hl, doors
    ld de, 5
.door:
    ld a, [map]
    cp [hl]
    inc hl
    jr nz, .next
    ld a, c
    cp [hl]
    jr z, .found
.next:
    add hl, de
    dec hl
    jr .door
.found:
    inc hl
    ld de, door
    ld b, 3
.copy:
    ld a, [hl+]
    ld [de], a
    inc de
    dec b
    jr nz, .copy
    ld a, SCENE_WORLD
    jp change_scene

; A rising tone on channel 1.
chime:
    ld a, %00010110
    ldh [NR10], a
    ld a, %10000000
    ldh [NR11], a
    ld a, %11110011
    ldh [NR12], a
    xor a
    ldh [NR13], a
    ld a, %10000110
    ldh [NR14], a
    ret

; ---- talking and looking -------------------------------------------------------------------------

look:
    call faced_cell
    ld c, l
    ld de, talkers
    ld b, (talkers_end - talkers) / 3
.talker:
    ld a, [de]
    inc de
    ld hl, map
    xor [hl]
    ld l, a
    ld a, [de]
    inc de
    xor c
    or l
    ld a, [de]
    inc de
    jr z, .talk
    dec b
    jr nz, .talker
    ld l, c             ; nobody here: what is it?
    ld h, high(cells)
    ld a, [hl]
    call kind_of
    inc hl
    inc hl
    ld a, [hl]
    and a
    ret z
    jr open_text
.talk:
    cp TALK_BRAM
    jr z, talk_bram
    cp TALK_WICK
    jr nz, open_text

talk_wick:
    ld hl, quest
    bit QUEST_SONG, [hl]
    ld a, WICK_HUMS
    jr nz, open_text
    bit QUEST_FLAME, [hl]
    ld a, WICK_DARK
    jr z, open_text
    set QUEST_SONG, [hl]
    ld a, WICK_SINGS
    jr open_text

talk_bram:
    ld hl, quest
    bit QUEST_SONG, [hl]
    jr nz, .end
    bit QUEST_FLAME, [hl]
    ld a, BRAM_WAITS
    jr nz, open_text
    ld a, [items]
    cp CANDLES_NEEDED
    ld a, BRAM_ASKS
    jr c, open_text
    set QUEST_FLAME, [hl]
    ld a, BRAM_GIVES
    jr open_text
.end:
    set QUEST_LIT, [hl]
    ld a, 1
    ld [done], a
    call chime
    ld a, BRAM_ENDS

; Open text a.
open_text:
    ld [dialogue], a
    dec a
    add a
    ld e, a
    ld d, 0
    ld hl, texts
    add hl, de
    ld a, [hl+]
    ld [text], a
    ld a, [hl]
    ld [text + 1], a
    ld a, TEXT_CLEAR
    ld [text_state], a
    ld a, LCD_TEXT
    ldh [LCDC], a
    ret

; A or B turns the page or closes the box.
text_buttons:
    ld a, [text_state]
    cp TEXT_MORE
    ret c
    ld b, a
    ld a, [new]
    and BUTTON_A | BUTTON_B
    ret z
    ld a, TEXT_CLEAR
    ld [text_state], a
    ld a, b
    cp TEXT_MORE
    ret z
    xor a
    ld [dialogue], a
    ld a, LCD_PLAIN
    ldh [LCDC], a
    ld a, [done]
    and a
    ret z
    ld a, SCENE_END
    jp change_scene
