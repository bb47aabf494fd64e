; Program: Lantern Duel, a game for two consoles on a cable: two bats, a spark, five points
; Keys: Up, Down
; PyBoy: nobody is at the other end of its cable, and a transfer takes a quarter of the time
;
; Both consoles run the same game. In each frame the one that called sends its buttons and gets those
; of the other one, and both take the same step. If the bytes do not come, neither takes it.

    include "hardware.asm"

    org $0040
    jp on_vblank
    org $0058
    jp on_serial

    include "screen.asm"
    header "LANTERN DUEL", $00

CALLS equ $A5        ; what the console says that calls, and the one that answers
ANSWERS equ $5A
BUTTONS equ %01000000   ; the upper two bits of a byte of buttons

BAT equ 1           ; tiles
SPARK equ 2
TOP equ 24          ; where the spark turns back, and bats stop
BOTTOM equ 128
LAST_BAT equ 112
FIRST_X equ 16      ; where a bat meets the spark
SECOND_X equ 136
FIRST_LOST equ 4
SECOND_LOST equ 152
MIDDLE equ 80
SPEED equ 2
LAST_POINT equ 5
SERVE_TIME equ 24        ; frames before the spark flies

    org $C000
shadow: ds 28       ; objects
    org $C100
mine: ds 1          ; points
theirs: ds 1
done: ds 1
role: ds 1          ; 1 called, and has the left bat; 2 answered; 0 not connected
points: ds 2        ; of left and right
bats: ds 2          ; their upper ends
spark_x: ds 1
spark_y: ds 1
spark_dx: ds 1
spark_dy: ds 1
pads: ds 2          ; buttons of left and right
rng: ds 1
serve: ds 1
steps: ds 2         ; that were taken

    org $FF90
vblank: ds 1        ; a frame has been drawn
got: ds 1           ; a byte has come

    org $3000
message:
    db "LANTERN DUEL", 0

pictures:
    gfx
    .######...----..
    ########.-oooo-.
    ########-oo##oo-
    ########-o####o-
    ########-o####o-
    ########-oo##oo-
    ########.-oooo-.
    .######...----..
    endgfx
pictures_end:

main:
    ldh a, [LY]
    cp 144
    jr nz, main
    xor a
    ldh [LCDC], a
    ld hl, OAM
    ld b, 160
    call clear
    ld hl, shadow
    ld b, 28
    call clear
    ld hl, mine
    ld b, 32
    call clear
    ldh [vblank], a
    ldh [got], a
    ldh [SC], a
    ld hl, TILES + BAT * 16
    ld de, pictures
    ld b, pictures_end - pictures
.tiles:
    ld a, [de]
    inc de
    ld [hl+], a
    dec b
    jr nz, .tiles
    ld hl, SCREEN + 8 * 32
    ld b, 32
    ld a, ' '
    call fill
    ld hl, SCREEN + 2 * 32
    ld b, 32
    ld a, BAT
    call fill
    ld hl, SCREEN + 17 * 32
    ld b, 32
    ld a, BAT
    call fill
    ld a, %11100100
    ldh [OBP0], a
    ld a, (TOP + LAST_BAT) / 2
    ld [bats], a
    ld [bats + 1], a
    call new_spark
    ld a, -SPEED
    ld [spark_dx], a
    call draw
    xor a
    ldh [IF_FLAGS], a
    ld a, %00001001
    ldh [IE], a
    ld a, %10010011
    ldh [LCDC], a
    ei

; ---- who calls -----------------------------------------------------------------------------------

connect:
    ldh a, [DIV]
    and 7
    add 2
    ld c, a
    xor a
    ldh [got], a
    ld a, ANSWERS
    ldh [SB], a
    ld a, %10000000
    ldh [SC], a
.listen:
    call wait_vblank
    ldh a, [got]
    and a
    jr nz, .heard
    dec c
    jr nz, .listen
    ld a, CALLS
    ldh [SB], a
    ld a, %10000001
    ldh [SC], a
    call wait_byte
    cp ANSWERS
    jr nz, connect
    ld a, 1
    ld [role], a
    jr first
.heard:
    ldh a, [SB]
    cp CALLS
    jr nz, connect
    ld a, 2
    ld [role], a

; ---- play ----------------------------------------------------------------------------------------

second:
    xor a
    ldh [got], a
    call read_pad
    ld [pads + 1], a
    ldh [SB], a
    ld a, %10000000
    ldh [SC], a
    call wait_byte
    ld [pads], a
    call check_byte
    jr nz, .lost
    call step
    jr second
; Bits were lost. Listen again at some other time, so that the next byte is not met amid its bits too.
.lost:
    xor a
    ldh [SC], a
    call wait_vblank
    ldh a, [DIV]
    ld b, a
.wait:
    dec b
    jr nz, .wait
    jr second

first:
    call wait_vblank
    xor a
    ldh [got], a
    call read_pad
    ld [pads], a
    ldh [SB], a
    ld a, %10000001
    ldh [SC], a
    call wait_byte
    ld [pads + 1], a
    call check_byte
    call z, step
    jr first

; Set Z if a is a byte of buttons.
check_byte:
    and %11000000
    cp BUTTONS
    ret

wait_vblank:
    ldh a, [vblank]
    and a
    jr z, wait_vblank
    xor a
    ldh [vblank], a
    ret

; Wait for the end of the transfer; a is what came.
wait_byte:
    ldh a, [got]
    and a
    jr z, wait_byte
    xor a
    ldh [got], a
    ldh a, [SB]
    ret

read_pad:
    ld a, %00100000
    ldh [P1], a
    ldh a, [P1]
    ldh a, [P1]
    cpl
    ld c, BUTTONS
    bit 2, a
    jr z, .not_up
    set 0, c
.not_up:
    bit 3, a
    jr z, .not_down
    set 1, c
.not_down:
    ld a, c
    ret

; ---- a step, the same on both consoles -----------------------------------------------------------

step:
    ld a, [done]
    and a
    ret nz
    ld hl, steps
    inc [hl]
    jr nz, .counted
    inc hl
    inc [hl]
.counted:
    ld hl, rng          ; times 5, plus the buttons, plus 1
    ld a, [pads]
    ld b, a
    ld a, [pads + 1]
    add a
    add b
    add [hl]
    add [hl]
    add [hl]
    add [hl]
    add [hl]
    inc a
    ld [hl], a
    ld hl, bats
    ld a, [pads]
    call move_bat
    ld hl, bats + 1
    ld a, [pads + 1]
    call move_bat
    ld a, [serve]
    and a
    jr z, .fly
    dec a
    ld [serve], a
    jr draw
.fly:
    call move_spark
    call meet
    ; fall through

; Put the objects where they are, and say who has which points.
draw:
    ld hl, shadow
    ld a, [bats]
    ld c, 16
    call draw_bat
    ld a, [bats + 1]
    ld c, SECOND_X + 16
    call draw_bat
    ld a, [spark_y]
    add 16
    ld [hl+], a
    ld a, [spark_x]
    add 8
    ld [hl+], a
    ld a, SPARK
    ld [hl+], a
    xor a
    ld [hl], a
    ld a, [points]
    ld b, a
    ld a, [points + 1]
    ld c, a
    ld a, [role]
    cp 2
    jr nz, .left
    ld a, b
    ld b, c
    ld c, a
.left:
    ld a, b
    ld [mine], a
    ld a, c
    ld [theirs], a
    ret

; Three objects at hl, from row a on in column c.
draw_bat:
    ld b, 3
    add 16
.object:
    ld [hl+], a
    ld e, a
    ld a, c
    ld [hl+], a
    ld a, BAT
    ld [hl+], a
    xor a
    ld [hl+], a
    ld a, e
    add 8
    dec b
    jr nz, .object
    ret

; Move the bat at hl by the buttons in a.
move_bat:
    ld b, a
    ld a, [hl]
    bit 0, b
    jr z, .not_up
    cp TOP
    jr z, .not_up
    sub SPEED
.not_up:
    bit 1, b
    jr z, .not_down
    cp LAST_BAT
    jr z, .not_down
    add SPEED
.not_down:
    ld [hl], a
    ret

move_spark:
    ld a, [spark_dx]
    ld b, a
    ld a, [spark_x]
    add b
    ld [spark_x], a
    ld a, [spark_dy]
    ld b, a
    ld a, [spark_y]
    add b
    cp TOP
    jr nc, .below
    ld a, TOP
    jr .turn
.below:
    cp BOTTOM + 1
    jr c, .keep
    ld a, BOTTOM
.turn:
    ld c, a
    xor a
    sub b
    ld [spark_dy], a
    ld a, c
.keep:
    ld [spark_y], a
    ret

; Where the spark meets a bat it turns back; where it has passed one there is a point.
meet:
    ld a, [spark_x]
    ld hl, bats
    ld b, SPEED
    cp FIRST_X
    jr z, meet_bat
    inc hl
    ld b, -SPEED
    cp SECOND_X
    jr z, meet_bat
    ld hl, points + 1
    cp FIRST_LOST
    jr z, .point
    dec hl
    cp SECOND_LOST
    ret nz
.point:
    inc [hl]
    ld a, [hl]
    cp LAST_POINT
    jr nz, new_spark
    ld a, 1
    ld [done], a
    ; fall through

; A spark in the middle. It flies towards who got the point.
new_spark:
    ld a, MIDDLE
    ld [spark_x], a
    ld a, (TOP + BOTTOM) / 2
    ld [spark_y], a
    ld a, SERVE_TIME
    ld [serve], a
    xor a
    ld hl, spark_dx
    sub [hl]
    ld [hl], a
    ld a, [rng]
    and 3
    dec a
    ld [spark_dy], a
    ret

; The bat's upper end is at hl: the spark must be beside it. The further from its middle, the steeper.
meet_bat:
    ld a, [spark_dx]
    cp b
    ret z
    ld a, [spark_y]
    add 7
    sub [hl]
    ret c
    cp 31
    ret nc
    sub 15
    sra a
    sra a
    sra a
    ld [spark_dy], a
    ld a, b
    ld [spark_dx], a
    ret

; ---- interrupts ----------------------------------------------------------------------------------

on_vblank:
    push af
    push bc
    push de
    push hl
    ld hl, OAM
    ld de, shadow
    ld b, 28
.object:
    ld a, [de]
    inc de
    ld [hl+], a
    dec b
    jr nz, .object
    ld a, [points]
    add '0'
    ld [SCREEN + 32 + 7], a
    ld a, [points + 1]
    add '0'
    ld [SCREEN + 32 + 12], a
    ld a, 1
    ldh [vblank], a
    pop hl
    pop de
    pop bc
    pop af
    reti

on_serial:
    push af
    ld a, 1
    ldh [got], a
    pop af
    reti

; Fill b bytes at hl.
clear:
    xor a
fill:
    ld [hl+], a
    dec b
    jr nz, fill
    ret
