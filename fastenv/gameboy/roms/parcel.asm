; Program: Parcel, a small role-playing game: five places, battles, and a parcel to fetch and deliver
; Keys: Up, Down, Left, Right: walk; A: talk, hit, read on; B: run away
;
; It writes what a player does where Pokemon Red keeps it (fastenv/gameboy/data/maps): place, party,
; bag, battle, events. Nothing else of it is that game's. A step takes 8 frames. In tall grass every
; fifth step meets an opponent. The shop has a parcel, which the professor in the lab waits for.

    include "hardware.asm"

    org $0040
    jp on_vblank

    org $0100
    nop
    jp start
    header "PARCEL", $13, 3

; ---- memory, where Pokemon Red has it ------------------------------------------------------------

    org $C109
facing: ds 1            ; 0 down, 4 up, 8 left, 12 right
    org $CD6B
joy_ignore: ds 1        ; buttons that are not taken
    org $CFC4
font_loaded: ds 1       ; a text is on the screen
    org $CFE6
enemy_hp: ds 2          ; the high byte first
    org $CFF3
enemy_level: ds 1
    org $D057
battle: ds 1
    org $D163
party_count: ds 1
species: ds 1
    org $D16C
hp: ds 2
    org $D18C
level: ds 1
max_hp: ds 2
    org $D2F7
owned: ds 19
seen: ds 19
bag_count: ds 1
bag: ds 41
    org $D347
money: ds 3
    org $D355
options: ds 1
badges: ds 1
    org $D35E
map_id: ds 1
    org $D361
map_y: ds 1
map_x: ds 1
    org $D747
events: ds 320
EVENT_POKEDEX equ 37
EVENT_DELIVERED equ 56
EVENT_PARCEL equ 57
THE_PARCEL equ $46

    org $DE00           ; of this program alone
place: ds 1             ; number of the place, from 0
pad: ds 1               ; buttons that are down
new: ds 1               ; and were not before
walking: ds 1           ; frames of a step that are left
script: ds 1            ; frames until a text comes
target_x: ds 1
target_y: ds 1
grass: ds 1             ; steps until an opponent comes
won: ds 1               ; battles
shown_x: ds 1           ; where the hero was drawn
shown_y: ds 1
vblank: ds 1

COLUMNS equ 10
ROWS equ 9
GRASS_STEPS equ 5
STEP equ 8              ; frames
SCRIPT_TIME equ 60

; ---- the places ----------------------------------------------------------------------------------

    org $0150
start:
    jp main

LAB equ 0
TOWN equ 1
ROUTE equ 2
CITY equ 3
SHOP equ 4
NOWHERE equ 255
PLACE_SIZE equ 6

; Of each place: number of its map, place to the north, to the south, behind the door; where one
; arrives there.
places:
    db 40, NOWHERE, NOWHERE, TOWN, 2, 4
    db 0, ROUTE, NOWHERE, LAB, 5, 7
    db 12, CITY, TOWN, NOWHERE, 0, 0
    db 1, NOWHERE, ROUTE, SHOP, 4, 7
    db 42, NOWHERE, NOWHERE, CITY, 7, 4

; # wall or tree, . floor, D door, P person, "," tall grass
cells:
    db "##########"
    db "#...P....#"
    db "#........#"
    db "#........#"
    db "#..##....#"
    db "#........#"
    db "#........#"
    db "#........#"
    db "#####D####"

    db "####..####"
    db "#........#"
    db "####.....#"
    db "##D#..##.#"
    db "#.....##.#"
    db "#........#"
    db "#..P.....#"
    db "#........#"
    db "##########"

    db "####..####"
    db "#........#"
    db "#..#######"
    db "#..,,,,..#"
    db "#..,,,,..#"
    db "######,,.#"
    db "#........#"
    db "#.##.....#"
    db "####..####"

    db "##########"
    db "#....###.#"
    db "#....###.#"
    db "#.P..##D.#"
    db "#........#"
    db "#..####..#"
    db "#..####..#"
    db "#........#"
    db "####..####"

    db "##########"
    db "#...P....#"
    db "#..###...#"
    db "#........#"
    db "#.##..##.#"
    db "#........#"
    db "#.##..##.#"
    db "#........#"
    db "####D#####"

FLOOR equ 0             ; tiles; each cell has four
WALL equ 4
DOOR equ 8
PERSON equ 12
GRASS equ 16
HERO equ 20             ; four facings
BOX equ 36

pictures:
    gfx
    ................
    ................
    ................
    ................
    ................
    ................
    ................
    .......-........
    ................
    ................
    ................
    ................
    ................
    ................
    ................
    ................
    endgfx
    gfx
    ################
    #oooooo##oooooo#
    #oooooo##oooooo#
    #oooooo##oooooo#
    ################
    ###oooooo##ooooo
    ###oooooo##ooooo
    ################
    ################
    #oooooo##oooooo#
    #oooooo##oooooo#
    #oooooo##oooooo#
    ################
    ###oooooo##ooooo
    ###oooooo##ooooo
    ################
    endgfx
    gfx
    oooooooooooooooo
    o..............o
    o.############.o
    o.############.o
    o.############.o
    o.############.o
    o.############.o
    o.############.o
    o.############.o
    o.############.o
    o.############.o
    o.############.o
    o.############.o
    o.############.o
    o.############.o
    o.############.o
    endgfx
    gfx
    ................
    ....oooooooo....
    ...oooooooooo...
    ...oo.o..o.oo...
    ...oo......oo...
    ....o......o....
    .....oooooo.....
    ...oooooooooo...
    ..oooooooooooo..
    ..oo.oooooo.oo..
    ..oo.oooooo.oo..
    .....oooooo.....
    .....oo..oo.....
    .....oo..oo.....
    ....ooo..ooo....
    ................
    endgfx
    gfx
    ...-.......-....
    .-.-.-...-.-.-..
    .-.-.-...-.-.-..
    ..---.....---...
    ...-.......-....
    .......-........
    .....-.-.-....-.
    .....-.-.-....-.
    ......---.......
    ...-...-...-....
    .-.-.-...-.-.-..
    .-.-.-...-.-.-..
    ..---.....---...
    ...-.......-....
    ................
    ................
    endgfx
    gfx
    ................
    ....########....
    ...##########...
    ...##-#--#-##...
    ...##------##...
    ....#------#....
    .....######.....
    ...##########...
    ..############..
    ..##.######.##..
    ..##.######.##..
    .....######.....
    .....##..##.....
    .....##..##.....
    ....###..###....
    ................
    endgfx
    gfx
    ................
    ....########....
    ...##########...
    ...##########...
    ...##########...
    ....########....
    .....######.....
    ...##########...
    ..############..
    ..##.######.##..
    ..##.######.##..
    .....######.....
    .....##..##.....
    .....##..##.....
    ....###..###....
    ................
    endgfx
    gfx
    ................
    ....########....
    ...#########....
    ...-#-######....
    ...---######....
    ....--#####.....
    .....######.....
    .....#######....
    .....########...
    .....###.####...
    .....###.####...
    .....######.....
    .....##.##......
    .....##.##......
    ....##..##......
    ................
    endgfx
    gfx
    ................
    ....########....
    ....#########...
    ....######-#-...
    ....######---...
    .....#####--....
    .....######.....
    ....#######.....
    ...########.....
    ...####.###.....
    ...####.###.....
    .....######.....
    ......##.##.....
    ......##.##.....
    ......##..##....
    ................
    endgfx
    gfx
    oooooooooooooooo
    oooooooooooooooo
    oooooooooooooooo
    oooooooooooooooo
    oooooooooooooooo
    oooooooooooooooo
    oooooooooooooooo
    oooooooooooooooo
    oooooooooooooooo
    oooooooooooooooo
    oooooooooooooooo
    oooooooooooooooo
    oooooooooooooooo
    oooooooooooooooo
    oooooooooooooooo
    oooooooooooooooo
    endgfx
pictures_end:

; ---- the beginning -------------------------------------------------------------------------------

main:
    di
    ld sp, $DFF0
    call screen_off
    ld hl, $C000
    ld bc, $1F00
    xor a
    call fill
    ld hl, TILES
    ld de, pictures
    ld bc, pictures_end - pictures
.tiles:
    ld a, [de]
    inc de
    ld [hl+], a
    dec bc
    ld a, b
    or c
    jr nz, .tiles
    ld hl, WINDOW_SCREEN
    ld bc, $400
    ld a, BOX
    call fill
    ld a, 112
    ldh [WY], a
    ld a, 7
    ldh [WX], a
    xor a
    ldh [SCX], a
    ldh [SCY], a
    ld a, 1
    ld [party_count], a
    ld [species], a
    ld [options], a
    ld a, 5
    ld [level], a
    ld a, 20
    ld [max_hp + 1], a
    ld [hp + 1], a
    ld a, $30
    ld [money + 1], a
    ld a, $FF
    ld [bag], a
    ld a, GRASS_STEPS
    ld [grass], a
    ld a, 4
    ld [map_x], a
    ld a, 5
    ld [map_y], a
    ld a, TOWN
    call enter
    ld a, 1
    ldh [IE], a
    xor a
    ldh [IF_FLAGS], a
    ei

loop:
    halt
    nop
    ld a, [vblank]
    and a
    jp z, loop
    xor a
    ld [vblank], a
    call draw_hero
    call look
    call read_pad
    ld a, [script]
    and a
    jr nz, play_script
    ld a, [font_loaded]
    and a
    jr nz, read_text
    ld a, [battle]
    and a
    jp nz, fight
    ld a, [walking]
    and a
    jr nz, walk_on
    ld a, [new]
    and BUTTON_A
    jp nz, talk
    jp begin_step

; What is pressed is not taken until the text that comes is read.
play_script:
    dec a
    ld [script], a
    jp nz, loop
    ld a, 1
    ld [font_loaded], a
    jp loop

read_text:
    ld a, [new]
    and BUTTON_A
    jp z, loop
    xor a
    ld [font_loaded], a
    ld [joy_ignore], a
    jp loop

walk_on:
    dec a
    ld [walking], a
    jp nz, loop
    ld a, [target_x]
    ld [map_x], a
    ld a, [target_y]
    ld [map_y], a
    call cell_at
    cp 'D'
    jr z, .door
    cp ','              ; tall grass
    jp nz, loop
    ld hl, grass
    dec [hl]
    jp nz, loop
    ld [hl], GRASS_STEPS
    jp meet
.door:
    call place_entry
    inc hl
    inc hl
    inc hl
    ld a, [hl+]
    ld b, a
    ld a, [hl+]
    ld [map_x], a
    ld a, [hl]
    ld [map_y], a
    ld a, b
    call enter
    jp loop

; ---- walking -------------------------------------------------------------------------------------

begin_step:
    ld a, [pad]
    ld bc, $0001        ; column, row
    ld d, 0
    bit 7, a
    jr nz, .go
    ld bc, $00FF
    ld d, 4
    bit 6, a
    jr nz, .go
    ld bc, $FF00
    ld d, 8
    bit 5, a
    jr nz, .go
    ld bc, $0100
    ld d, 12
    bit 4, a
    jr nz, .go
    jp loop
.go:
    ld a, d
    ld [facing], a
    ld a, [map_x]
    add b
    ld [target_x], a
    ld a, [map_y]
    add c
    ld [target_y], a
    cp ROWS
    jr nc, .leave
    call target_cell
    cp '#'
    jp z, loop
    cp 'P'
    jp z, loop
    ld a, STEP
    ld [walking], a
    jp loop
; Out of the place, to the north or to the south.
.leave:
    call place_entry
    inc hl
    ld b, ROWS - 1
    ld a, [facing]
    cp 4
    jr z, .there
    inc hl
    ld b, 0
.there:
    ld a, [hl]
    cp NOWHERE
    jp z, loop
    ld c, a
    ld a, b
    ld [map_y], a
    ld a, c
    call enter
    jp loop

; hl is the entry of the place in the table.
place_entry:
    ld a, [place]
    add a
    ld c, a
    add a
    add c
    ld c, a
    ld b, 0
    ld hl, places
    add hl, bc
    ret

; a is the cell of the hero, or that of the target.
cell_at:
    ld a, [map_x]
    ld c, a
    ld a, [map_y]
    jr cell
target_cell:
    ld a, [target_x]
    ld c, a
    ld a, [target_y]
; a is the cell in row a and column c.
cell:
    ld b, a
    add a
    add a
    add b
    add a               ; times 10
    add c
    ld c, a
    ld b, 0
    ld hl, cells
    add hl, bc
    ld bc, COLUMNS * ROWS
    ld a, [place]
    and a
    jr z, .found
.next:
    add hl, bc
    dec a
    jr nz, .next
.found:
    ld a, [hl]
    ret

; ---- people --------------------------------------------------------------------------------------

talk:
    ld a, [facing]
    ld bc, $0001
    and a
    jr z, .look
    ld bc, $00FF
    cp 4
    jr z, .look
    ld bc, $FF00
    cp 8
    jr z, .look
    ld bc, $0100
.look:
    ld a, [map_x]
    add b
    ld [target_x], a
    ld a, [map_y]
    add c
    ld [target_y], a
    call target_cell
    cp 'P'
    jp nz, loop
    ld a, [place]
    cp SHOP
    jr z, .shop
    cp LAB
    jr z, .lab
    ld a, 1
    ld [font_loaded], a
    jp loop
.shop:
    ld c, EVENT_PARCEL
    call flag
    jr nz, .say
    or [hl]
    ld [hl], a
    ld a, 1
    ld [bag_count], a
    ld [bag + 1], a
    ld a, THE_PARCEL
    ld [bag], a
    ld a, $FF
    ld [bag + 2], a
    jr .act
.lab:
    ld a, [max_hp + 1]
    ld [hp + 1], a
    ld c, EVENT_PARCEL
    call flag
    jr z, .say
    ld c, EVENT_DELIVERED
    call flag
    jr nz, .say
    or [hl]
    ld [hl], a
    ld c, EVENT_POKEDEX
    call flag
    or [hl]
    ld [hl], a
    xor a
    ld [bag_count], a
    ld [bag + 1], a
    ld a, $FF
    ld [bag], a
    jr .act
.say:
    ld a, 1
    ld [font_loaded], a
    jp loop
.act:
    ld a, $FF
    ld [joy_ignore], a
    ld a, SCRIPT_TIME
    ld [script], a
    jp loop

; Event c is bit a of the byte at hl; Z if it is 0.
flag:
    ld a, c
    and 7
    ld b, a
    inc b
    ld a, c
    rrca
    rrca
    rrca
    and %00011111
    ld hl, events
    add l
    ld l, a
    jr nc, .page
    inc h
.page:
    ld a, %10000000
.turn:
    rlca
    dec b
    jr nz, .turn
    ld b, a
    and [hl]
    ld a, b
    ret

; ---- battles -------------------------------------------------------------------------------------

meet:
    ld a, 1
    ld [battle], a
    ld a, 9
    ld [enemy_hp + 1], a
    ld a, 3
    ld [enemy_level], a
    ld a, [won]
    and 3
    inc a
    ld b, a
    ld a, %10000000
.turn:
    rlca
    dec b
    jr nz, .turn
    ld hl, seen
    or [hl]
    ld [hl], a
    jp loop

fight:
    ld a, [new]
    ld b, a
    and BUTTON_B
    jr nz, .over
    ld a, b
    and BUTTON_A
    jp z, loop
    ld hl, enemy_hp + 1
    ld a, [level]
    ld b, a
    ld a, [hl]
    sub b
    jr z, .win
    jr c, .win
    ld [hl], a
    ld hl, hp + 1
    dec [hl]
    jp nz, loop
; Lost: back to the lab, as good as new.
    ld a, [max_hp + 1]
    ld [hl], a
    xor a
    ld [battle], a
    ld [enemy_hp + 1], a
    ld a, 5
    ld [map_x], a
    ld a, 6
    ld [map_y], a
    ld a, LAB
    call enter
    jp loop
.win:
    ld [hl], 0
    ld hl, won
    inc [hl]
    bit 0, [hl]
    jr nz, .over
    ld hl, level
    inc [hl]
    ld hl, max_hp + 1
    inc [hl]
    inc [hl]
.over:
    xor a
    ld [battle], a
    ld [enemy_hp + 1], a
    jp loop

; ---- the screen ----------------------------------------------------------------------------------

; Show place a.
enter:
    ld [place], a
    call place_entry
    ld a, [hl]
    ld [map_id], a
    ld a, [map_x]
    ld [shown_x], a
    ld [target_x], a
    ld a, [map_y]
    ld [shown_y], a
    ld [target_y], a
    di
    call screen_off
    ld d, 0
.row:
    ld e, 0
.column:
    ld c, e
    ld a, d
    call cell
    call tile_of
    call put
    inc e
    ld a, e
    cp COLUMNS
    jr nz, .column
    inc d
    ld a, d
    cp ROWS
    jr nz, .row
    call draw_hero
    ld a, %11100100
    ldh [BGP], a
    ld a, %11010001
    ldh [LCDC], a
    xor a
    ldh [IF_FLAGS], a
    ei
    ret

; a is the first tile of a cell.
tile_of:
    ld b, FLOOR
    cp '.'
    jr z, .found
    ld b, WALL
    cp '#'
    jr z, .found
    ld b, DOOR
    cp 'D'
    jr z, .found
    ld b, PERSON
    cp 'P'
    jr z, .found
    ld b, GRASS
.found:
    ld a, b
    ret

; Put four tiles from a on into the cell of row d and column e.
put:
    push af
    ld l, d
    ld h, 0
    add hl, hl
    add hl, hl
    add hl, hl
    add hl, hl
    add hl, hl
    add hl, hl          ; 64 a row
    ld b, 0
    ld c, e
    add hl, bc
    add hl, bc
    ld bc, SCREEN
    add hl, bc
    pop af
    ld [hl+], a
    inc a
    ld [hl], a
    inc a
    ld bc, 31
    add hl, bc
    ld [hl+], a
    inc a
    ld [hl], a
    ret

; Take the hero from where it was drawn, and draw it where it is.
draw_hero:
    ld a, [shown_x]
    ld e, a
    ld c, a
    ld a, [shown_y]
    ld d, a
    call cell
    call tile_of
    call put
    ld a, [map_x]
    ld [shown_x], a
    ld e, a
    ld a, [map_y]
    ld [shown_y], a
    ld d, a
    ld a, [facing]
    add HERO
    jp put

; Show a text as a box, and a battle in other shades.
look:
    ld b, %11010001
    ld a, [font_loaded]
    and a
    jr z, .no_text
    ld b, %11110001
.no_text:
    ld a, b
    ldh [LCDC], a
    ld b, %11100100
    ld a, [battle]
    and a
    jr z, .no_battle
    ld b, %00011011
.no_battle:
    ld a, b
    ldh [BGP], a
    ret

screen_off:
    ldh a, [LCDC]
    add a
    ret nc
.wait:
    ldh a, [LY]
    cp 144
    jr nz, .wait
    xor a
    ldh [LCDC], a
    ret

; Fill bc bytes at hl with a.
fill:
    ld d, a
.byte:
    ld a, d
    ld [hl+], a
    dec bc
    ld a, b
    or c
    jr nz, .byte
    ret

read_pad:
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
    ld c, a
    ld a, [pad]
    cpl
    and c
    ld [new], a
    ld a, c
    ld [pad], a
    ret

on_vblank:
    push af
    ld a, 1
    ld [vblank], a
    pop af
    reti
