; Program: stack, calls, returns, jumps and RST

    include "lib.asm"

    org $0028
    inc b
    ret

    header "MICRO STACK", $00

    org $1000
main:
; The high byte is pushed first, to the higher address.
    ld bc, $1234
    push bc
    ld hl, sp+0
    ld a, [hl+]
    ld d, [hl]
    pop bc
    call expect
    db $34
    ld a, d
    call expect
    db $12
; The low four bits of F do not exist.
    ld bc, $5AFF
    push bc
    pop af
    push af
    pop bc
    ld a, c
    call expect
    db $F0
    ld a, b
    call expect
    db $5A
; LD (nn),SP
    ld sp, $D234
    ld [free], sp
    ld sp, $DFFF
    ld a, [free]
    call expect
    db $34
    ld a, [free + 1]
    call expect
    db $D2
; LD SP,HL
    ld hl, $D100
    ld sp, hl
    push hl
    ld [free], sp
    ld sp, $DFFF
    ld a, [free]
    call expect
    db $FE
; Calls and returns by condition.
    ld b, 0
    scf
    call c, .count_c
    call nc, .count
    xor a
    call z, .count_z
    call nz, .count
    ld a, b
    call expect
    db 2
; RST
    ld b, 7
    rst $28
    ld a, b
    call expect
    db 8
; JP HL, JR backward and forward
    ld hl, .here
    jp hl
    jp fail
.back:
    jr .done
.here:
    jr .back
.done:
; A call pushes the address behind it.
    call .address
.behind:
    ld a, l
    call expect
    db low(.behind)
; RETI returns and allows interrupts.
    ld hl, .returned
    push hl
    reti
.returned:
    nop
    di
    jp pass
.address:
    pop hl
    push hl
    ret
.count_c:
    inc b
    ret c
    jp fail
.count_z:
    inc b
    xor a
    ret nz
    ret z
    jp fail
.count:
    ld b, 99
    ret
