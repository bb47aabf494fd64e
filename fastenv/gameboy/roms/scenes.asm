; Scenes of Lantern Walk: changes behind a fade, and the night of title and end.

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
