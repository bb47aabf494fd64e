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

    include "scenes.asm"
    include "walk.asm"
    include "draw.asm"
    include "title.asm"
    include "tiles.asm"
    include "font.asm"
    org $4000
    include "world.asm"
