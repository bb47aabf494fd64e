; Lantern Walk: a child finds candles for the old lamplighter. 32 KiB, no cartridge hardware.
;
; The main loop waits in HALT for the VBlank interrupt. Video memory is written in VBlank, right after
; the interrupt, or while the LCD is off.

    include "hardware.asm"
    include "ram.asm"

    org $0040
    jp on_vblank

    org $0100
    nop
    jp start
    if HEAVY
    header "LANTERN HEAVY", $00
    else
    header "LANTERN WALK", $00
    endif

    org $0150

MODE_NIGHT equ 0    ; title or end
MODE_WALK equ 1
MODE_FADE equ 2

SCENE_TITLE equ 0   ; what to change to
SCENE_WORLD equ 1
SCENE_BEGIN equ 2   ; the world for the first time
SCENE_END equ 3

TEXT_TYPING equ 0
TEXT_CLEAR equ 1    ; clear the box, then type
TEXT_MORE equ 2     ; wait for a button, then go on
TEXT_CLOSE equ 3    ; wait for a button, then close

QUEST_FLAME equ 0   ; bits of quest
QUEST_SONG equ 1
QUEST_LIT equ 2

WINDOW_TOP equ 104
LCD_PLAIN equ %11010011     ; on, window at $9C00, tiles at $8000, objects, background
LCD_TEXT equ %11110011      ; the same with window

LIGHT_DAY equ 0
LIGHT_DARK equ 1
LIGHT_NIGHT equ 2

NONE equ $FF
LINE_LENGTH equ 18
TEXT_TOP equ WINDOW_SCREEN + 32 + 1
TEXT_MARK equ TEXT_TOP + 3 * 32 + LINE_LENGTH - 1

; ---- start and main loop -------------------------------------------------------------------------

start:
    di
    ld sp, $FFFE
    call lcd_off
    ld hl, $C000
    ld bc, $1000
    call clear
    ld hl, start_dma
    ld de, dma_code
    ld c, dma_code_end - dma_code
.copy:
    ld a, [de]
    inc de
    ld [hl+], a
    dec c
    jr nz, .copy
    xor a
    ldh [vblank], a
    ld a, %00000001
    ldh [IE], a
    ld a, NONE
    ld [redraw], a
    ld [held], a        ; what is held from before is not new
    ld a, SCENE_TITLE
    call load_scene
    xor a
    ldh [IF_FLAGS], a
    ei

main:
    nop
    halt
    nop
    ldh a, [vblank]
    and a
    jr z, main
    xor a
    ldh [vblank], a
    call draw
    call read_buttons
    call next_random
    ld hl, frame
    inc [hl]
    if HEAVY
    call work
    endif
    ld a, [mode]
    cp MODE_WALK
    jr z, .walk
    cp MODE_FADE
    jr z, .fade
    call night
    jr main
.walk:
    call walk
    jr main
.fade:
    call fade_step
    jr main

on_vblank:
    push af
    call start_dma
    ld a, [camera_x]
    ldh [SCX], a
    ld a, [camera_y]
    ldh [SCY], a
    ld a, 1
    ldh [vblank], a
    pop af
    reti

; Runs in high RAM, the only memory that the processor has while OAM is filled.
dma_code:
    ld a, high(oam)
    ldh [DMA], a
    ld a, 40
    dec a
    jr nz, @ - 1
    ret
dma_code_end:

; ---- small things --------------------------------------------------------------------------------

lcd_off:
    ldh a, [LCDC]
    and a, %10000000
    ret z
.wait:
    ldh a, [LY]
    cp 144
    jr c, .wait
    xor a
    ldh [LCDC], a
    ret

; Fill bc bytes from hl with 0.
clear:
    xor a
    ld [hl+], a
    dec bc
    ld a, b
    or c
    jr nz, clear
    ret

; Copy bc bytes from de to hl.
copy:
    ld a, [de]
    inc de
    ld [hl+], a
    dec bc
    ld a, b
    or c
    jr nz, copy
    ret

read_buttons:
    ld a, %00100000
    ldh [P1], a
    ldh a, [P1]
    ldh a, [P1]
    cpl
    and $0F
    swap a
    ld b, a
    ld a, %00010000
    ldh [P1], a
    ldh a, [P1]
    ldh a, [P1]
    cpl
    and $0F
    or b
    ld b, a
    ld a, [held]
    cpl
    and b
    ld [new], a
    ld a, b
    ld [held], a
    ret

next_random:
    ld hl, rng
    ld a, [hl]
    add a
    add a
    add [hl]
    add 17
    ld [hl], a
    ret

; Return in hl the kind a.
kind_of:
    ld l, a
    ld h, 0
    add hl, hl
    add hl, hl
    add hl, hl
    ld bc, kinds
    add hl, bc
    ret

    if HEAVY
; A Fletcher sum over the map, again and again: a load that reads, adds and branches.
WORK_ROUNDS equ 4
work:
    ld d, WORK_ROUNDS
    ld bc, 0
.round:
    ld hl, cells + 3    ; with these 253 cells about 8,465 instructions a frame in all
.cell:
    ld a, [hl+]
    add b
    ld b, a
    add c
    ld c, a
    ld a, l
    and a
    jr nz, .cell
    dec d
    jr nz, .round
    ld hl, checksum
    ld a, b
    ld [hl+], a
    ld [hl], c
    ret
    endif

; ---- scenes --------------------------------------------------------------------------------------

; Shades of a light, from full to none; fade_step goes through them.
palettes:
    db $E4, $E4, $90, $40, $00
    db $F9, $F9, $A4, $50, $00
    db $1B, $1B, $06, $01, $00
sprite_palettes:
    db $E0, $E0, $90, $40, $00

fade_step:
    ld hl, fade
    inc [hl]
    ld a, [hl]
    cp 9
    jr nz, .level
    ld a, [scene_next]
    call load_scene
    ld a, MODE_FADE
    ld [mode], a
    ld a, [fade]
.level:
    cp 17
    jr c, .inside
    xor a
    ld [fade], a
    ld a, [scene_next]
    dec a
    cp SCENE_BEGIN      ; title and end are the night, the two between are the world
    ld a, MODE_NIGHT
    jr nc, .mode
    inc a
.mode:
    ld [mode], a
    ld a, [scene_next]
    cp SCENE_BEGIN
    ld a, INTRO
    jp z, open_text
    ret
.inside:
    cp 9
    jr c, .down
    cpl
    add 18              ; 17 - a
.down:
    srl a
; Set the palettes of the scene at level a: 0 is full, 4 is white.
set_light:
    ld e, a
    ld d, 0
    ld hl, sprite_palettes
    add hl, de
    ld a, [hl]
    ldh [OBP0], a
    ldh [OBP1], a
    ld a, [light]
    ld c, a
    add a
    add a
    add c
    ld c, a
    ld b, 0
    ld hl, palettes
    add hl, bc
    add hl, de
    ld a, [hl]
    ldh [BGP], a
    ret

; Change to scene a behind a fade.
change_scene:
    ld [scene_next], a
    xor a
    ld [fade], a
    ld a, MODE_FADE
    ld [mode], a
    ret

load_scene:
    ld e, a
    push de
    call lcd_off
    ld hl, oam
    ld bc, 160
    call clear
    pop de
    ld a, e
    and a
    jr z, load_title
    cp SCENE_END
    jp z, load_end
    cp SCENE_BEGIN
    jr nz, .world
    call load_world_tiles
    ld hl, door
    ld a, OUTDOORS
    ld [hl+], a
    ld a, START_CELL
    ld [hl+], a
    ld [hl], DOWNWARDS
.world:
    call load_map
    jr scene_loaded

load_title:
    call load_night
    ld hl, SCREEN + 2 * 32 + 2
    ld a, LOGO
    ld c, 14
    call draw_logo
    ld hl, SCREEN + 5 * 32 + 6
    ld c, 8
    call draw_logo

scene_loaded:
    ld a, 4
    call set_light
    ld a, LCD_PLAIN
    ldh [LCDC], a
    ld a, [mode]
    and a
    ret nz
    jp set_light        ; the first scene is not faded in

; Draw two rows of c tiles from tile a on, at hl.
draw_logo:
    ld b, 2
.row:
    push bc
    push hl
.tile:
    ld [hl+], a
    inc a
    dec c
    jr nz, .tile
    pop hl
    ld bc, 32
    add hl, bc
    pop bc
    dec b
    jr nz, .row
    ret

load_end:
    call load_night
    ld hl, SCREEN + 2 * 32 + 6
    ld de, end_title
    call print
    ld hl, SCREEN + 4 * 32 + 1
    ld de, end_line
    call print
    ld hl, SCREEN + 6 * 32 + 2
    ld de, end_steps
    call print
    call print_steps
    jr scene_loaded

end_title:
    db "THE END", END
end_line:
    db "Every lamp is lit.", END
end_steps:
    db "Your steps: ", END
press_start:
    db "PRESS START", END

; Print a text in tiles from de to hl.
print:
    ld a, [de]
    and a
    ret z
    inc de
    ld [hl+], a
    jr print

; Print steps at hl in five digits.
print_steps:
    ld d, h
    ld e, l
    ld hl, steps
    ld a, [hl+]
    ld h, [hl]
    ld l, a
    ld bc, -10000
    call print_digit
    ld bc, -1000
    call print_digit
    ld bc, -100
    call print_digit
    ld bc, -10
    call print_digit
    ld bc, -1
; Print how often -bc goes into hl at de; the rest stays in hl.
print_digit:
    ld a, '0' - 1
.count:
    inc a
    add hl, bc
    jr c, .count
    ld [de], a
    inc de
    ld a, l             ; once too often
    sub c
    ld l, a
    ld a, h
    sbc b
    ld h, a
    ret

; ---- the night: title and end --------------------------------------------------------------------

load_night:
    ld hl, TILES
    ld de, sprite_tiles
    ld bc, sprite_tiles_end - sprite_tiles
    call copy
    ld hl, TILES + $20 * 16
    ld de, font
    ld bc, font_end - font
    call copy
    ld hl, TILES + SCENE * 16
    ld de, scene_tiles
    ld bc, scene_tiles_end - scene_tiles
    call copy
    ld hl, TILES + LOGO * 16
    ld de, logo
    ld bc, logo_end - logo
    call copy
    ld hl, SCREEN
    ld de, scene
    ld b, 18
.row:
    ld c, 20
.tile:
    ld a, [de]
    inc de
    cp 'a'
    jr c, .own
    add SCENE - 'a'
.own:
    ld [hl+], a
    dec c
    jr nz, .tile
    ld a, l
    add 12
    ld l, a
    jr nc, .same
    inc h
.same:
    dec b
    jr nz, .row
    xor a
    ld [camera_x], a
    ld [camera_y], a
    ldh [SCX], a
    ldh [SCY], a
    ld [move], a
    ld [feet], a
    ld a, LIGHT_NIGHT
    ld [light], a
    ret

; A frame of title or end: somebody walks by with a flame, seven more behind at the end.
night:
    ld hl, walker
    ld a, [frame]
    and 1
    add [hl]
    ld [hl], a
    ld d, a
    ld e, 124
    ld a, 3             ; to the right
    ld [facing], a
    ld a, [frame]
    and %00001000
    ld [move], a
    call draw_hero
    ld hl, oam + 16
    call draw_lights
    ld a, [new]
    and BUTTON_START | BUTTON_A
    ret z
    ld a, [done]
    and a
    jp nz, start
    ld a, SCENE_BEGIN
    jp change_scene

; Write objects at hl: the flame before the walker at d, and what follows him.
draw_lights:
    ld a, [done]
    and a
    ld b, 1
    jr z, .one
    ld b, 8
.one:
    ld a, d
    add 14
    ld d, a
.light:
    ld a, [frame]
    rrca
    rrca
    add b
    add b
    and %00000011       ; a slow bob
    add 140
    ld [hl+], a
    ld a, d
    ld [hl+], a
    sub 20
    ld d, a
    ld a, FLAME
    ld [hl+], a
    xor a
    ld [hl+], a
    dec b
    jr nz, .light
    ret

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

    include "title.asm"
    include "tiles.asm"
    include "font.asm"
    org $4000
    include "world.asm"
