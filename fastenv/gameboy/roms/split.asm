; Program: splits the screen at a line: STAT asks for an interrupt at LYC, and HALT waits between

    include "hardware.asm"

    org $0040
    jp on_vblank

    org $0048
    jp on_line

    include "screen.asm"
    header "SPLIT", $00

message:
    db "SPLIT", 0

line equ 60

frames equ $C001

main:
    ld a, line
    ldh [LYC], a
    ld a, %01000000     ; STAT asks at LY = LYC
    ldh [STAT], a
    xor a
    ldh [IF_FLAGS], a
    ld a, %00000011
    ldh [IE], a
    ei
.wait:
    halt
    nop
    jr .wait

; Above the line the picture is still, below it moves.
on_line:
    push af
    ld a, [frames]
    ldh [SCX], a
    pop af
    reti

on_vblank:
    push af
    push hl
    ld hl, frames
    inc [hl]
    xor a
    ldh [SCX], a
    pop hl
    pop af
    reti
