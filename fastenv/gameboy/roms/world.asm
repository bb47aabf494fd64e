; World of Lantern Walk: kinds of cells, maps, doors, people and what they say.

; ---- kinds of cells ------------------------------------------------------------------------------

SOLID equ %0001
DOORWAY equ %0010
ITEM equ %0100
DEEP equ %1000      ; hides the feet

OUTDOORS equ 0
INDOORS equ 1
CELLAR equ 2
DOWNWARDS equ 0
UPWARDS equ 1
LEFTWARDS equ 2

KIND_SIZE equ 8
; A sign in the maps; attributes; text when looked at; what is under an item; four tiles.
kinds:
    db '.', 0, 0, 0, GRASS, MEADOW, MEADOW, MEADOW
    db '_', 0, 0, 0, BOARDS, BOARDS, BOARDS, BOARDS
    db ':', 0, 0, 0, EARTH, EARTH, EARTH, EARTH
    db ',', 0, 0, 0, FLOWER, MEADOW, MEADOW, FLOWER
    db '%', DEEP, 0, 0, TALL, TALL, TALL, TALL
    db '=', 0, 0, 0, PATH, PATH, PATH, PATH
    db '|', 0, 0, 0, BRIDGE_LEFT, BRIDGE_RIGHT, BRIDGE_LEFT, BRIDGE_RIGHT
    db 'R', 0, 0, 0, RUG, RUG + 1, RUG + 2, RUG + 3
    db 'c', ITEM, 0, 0, CANDLE, CANDLE + 1, CANDLE + 2, CANDLE + 3
    db 'd', ITEM, 0, 1, CANDLE_IN, CANDLE_IN + 1, CANDLE_IN + 2, CANDLE_IN + 3
    db 'e', ITEM, 0, 2, CANDLE, CANDLE + 1, CANDLE + 2, CANDLE + 3
    db 'D', DOORWAY, 0, 0, DOOR, DOOR + 1, DOOR + 2, DOOR + 3
    db 'C', DOORWAY, 0, 0, HATCH, HATCH + 1, HATCH + 2, HATCH + 3
    db 'M', DOORWAY, 0, 0, MAT, MAT + 1, MAT + 2, MAT + 3
    db 'v', DOORWAY, 0, 0, DOWN, DOWN + 1, DOWN + 2, DOWN + 3
    db 'L', DOORWAY, 0, 0, LADDER, LADDER + 1, LADDER + 2, LADDER + 3
    db 'T', SOLID, 0, 0, TREE, TREE + 1, TREE + 2, TREE + 3
    db 'P', SOLID, 0, 0, PINE, PINE + 1, PINE + 2, PINE + 3
    db '~', SOLID, LOOK_WATER, 0, WATER, WATER, WATER, WATER
    db '<', SOLID, 0, 0, ROOF_LEFT, ROOF_LEFT + 1, ROOF_LEFT + 2, ROOF_LEFT + 3
    db '^', SOLID, 0, 0, ROOF, ROOF, ROOF, ROOF
    db '>', SOLID, 0, 0, ROOF_RIGHT, ROOF_RIGHT + 1, ROOF_RIGHT + 2, ROOF_RIGHT + 3
    db 'H', SOLID, 0, 0, HOUSE, HOUSE, HOUSE, HOUSE
    db 'W', SOLID, LOOK_WINDOW, 0, WINDOW, WINDOW + 1, WINDOW + 2, WINDOW + 3
    db 'i', SOLID, LOOK_LANTERN, 0, LANTERN, LANTERN + 1, LANTERN + 2, LANTERN + 3
    db 'S', SOLID, 0, 0, SIGN, SIGN + 1, SIGN + 2, SIGN + 3
    db 'f', SOLID, 0, 0, FENCE, FENCE, FENCE + 1, FENCE + 1
    db 'O', SOLID, LOOK_WELL, 0, WELL, WELL + 1, WELL + 2, WELL + 3
    db 'B', SOLID, 0, 0, BRAM, BRAM + 1, BRAM + 2, BRAM + 3
    db 'N', SOLID, 0, 0, NELL, NELL + 1, NELL + 2, NELL + 3
    db 'K', SOLID, 0, 0, WICK, WICK + 1, WICK + 2, WICK + 3
    db 'k', SOLID, LOOK_CAT, 0, CAT, CAT + 1, CAT + 2, CAT + 3
    db 'X', SOLID, 0, 0, WALL_TOP, WALL_TOP, WALL_TOP, WALL_TOP
    db '#', SOLID, 0, 0, WALL, WALL, WALL + 1, WALL + 1
    db 't', SOLID, LOOK_TABLE, 0, TABLE, TABLE + 1, TABLE + 2, TABLE + 3
    db 's', SOLID, LOOK_SHELF, 0, SHELF, SHELF + 1, SHELF + 2, SHELF + 3
    db 'h', SOLID, LOOK_HEARTH, 0, HEARTH, HEARTH + 1, HEARTH + 2, HEARTH + 3
    db 'b', SOLID, LOOK_BED, 0, BED, BED + 1, BED + 2, BED + 3
    db 'p', SOLID, LOOK_POT, 0, POT, POT + 1, POT + 2, POT + 3
    db '@', SOLID, 0, 0, ROCK, ROCK + 1, ROCK + 2, ROCK + 3
    db 'o', SOLID, LOOK_BARREL, 0, BARREL, BARREL + 1, BARREL + 2, BARREL + 3
    db ' ', SOLID, 0, 0, BLANK, BLANK, BLANK, BLANK
kinds_end:

; ---- maps ----------------------------------------------------------------------------------------

MAPS equ 3
maps:
    db "TTTTTTTTTTTTTTTT"
    db "T<^^>.,TP~~~~~~T"
    db "THDWH..P.~~c~~~T"
    db "T,=.iS.,.~~|~~~T"
    db "T.=...,.P.~|~~.T"
    db "T.==......i=.,.T"
    db "TP.===..====N.PT"
    db "TTff.==O==.,..TT"
    db "T.%%i.B=..ffffTT"
    db "TT.%%..==....,.T"
    db "T%%P%T..=i.T.%.T"
    db "TP%TT%..====.%%T"
    db "T%%c%TP.,S.==%PT"
    db "TP%%TTT.%%.i=C.T"
    db "TTP%TP.%c%%.,.PT"
    db "TTTTTTTTTTTTTTTT"

    db "XXXXXXXXXXXXXXXX"
    db "X####X#####X###X"
    db "Xb_p_X_shs_Xss_X"
    db "X____X_____X__dX"
    db "X_RR_X_____X___X"
    db "X____#__t__#___X"
    db "X_d____RRR_____X"
    db "Xs__pX_RRR_Xp_tX"
    db "XXXXXX_____XXXXX"
    db "X####X__k__X###X"
    db "Xt__p#_____#_v_X"
    db "X______________X"
    db "X_b__X_____Xo_oX"
    db "XXXXXX_____XXXXX"
    db "     X__M__X    "
    db "     XXXXXXX    "

    db "@@@@@@@@@@@@@@@@"
    db "@L:@::::::@~~~~@"
    db "@::@:@@@@:@~~~~@"
    db "@o:::@o:@:::::~@"
    db "@@@@@@::@@@@@:@@"
    db "@::::@:@@~~@::o@"
    db "@:@@::::@~~::@@@"
    db "@:@o@@@:@@@@:::@"
    db "@:@@@e@:::::@@:@"
    db "@::::::@@@@:@o:@"
    db "@@@:@@@@~~@:@@:@"
    db "@K:::::@~~::::o@"
    db "@:@@@@:@@@@@@::@"
    db "@o@~~@::::o@@@:@"
    db "@@@~~@@@@:::::L@"
    db "@@@@@@@@@@@@@@@@"

; ---- doors: map and cell (y in the high digit), map and cell behind, facing there -----------------

doors:
    db OUTDOORS, $22, INDOORS, $D8, UPWARDS
    db INDOORS, $E8, OUTDOORS, $32, DOWNWARDS
    db INDOORS, $AD, CELLAR, $21, DOWNWARDS
    db CELLAR, $11, INDOORS, $BD, DOWNWARDS
    db OUTDOORS, $DD, CELLAR, $ED, LEFTWARDS
    db CELLAR, $EE, OUTDOORS, $DC, LEFTWARDS
doors_end:

START_CELL equ $42  ; outdoors, before the house

; ---- people and signs: map, cell, text; the two of the quest have texts that depend on it ---------

talkers:
    db OUTDOORS, $86, TALK_BRAM
    db CELLAR, $B1, TALK_WICK
    db OUTDOORS, $6C, TALK_NELL
    db OUTDOORS, $35, SIGN_HOUSE
    db OUTDOORS, $C9, SIGN_HATCH
talkers_end:

; ---- texts: up to three lines of 18 characters a page --------------------------------------------

END equ 0
LINE equ 1
PAGE equ 2
COUNT equ 3         ; the number of candles found

INTRO equ 1
FOUND equ 2
BRAM_ASKS equ 3
BRAM_GIVES equ 4
BRAM_WAITS equ 5
BRAM_ENDS equ 6
WICK_DARK equ 7
WICK_SINGS equ 8
WICK_HUMS equ 9
TALK_NELL equ 10
SIGN_HOUSE equ 11
SIGN_HATCH equ 12
LOOK_WATER equ 13
LOOK_WINDOW equ 14
LOOK_LANTERN equ 15
LOOK_WELL equ 16
LOOK_CAT equ 17
LOOK_TABLE equ 18
LOOK_SHELF equ 19
LOOK_HEARTH equ 20
LOOK_BED equ 21
LOOK_POT equ 22
LOOK_BARREL equ 23
TALK_BRAM equ 128
TALK_WICK equ 129

CANDLES_NEEDED equ 4

texts:
    dw intro, found, bram_asks, bram_gives, bram_waits, bram_ends
    dw wick_dark, wick_sings, wick_hums, nell, sign_house, sign_hatch
    dw water, window, lantern, well, cat, table, shelf, hearth, bed, pot, barrel

intro:
    db "It is the eve of", LINE, "the Lantern Walk.", LINE, "Snow is coming.", PAGE
    db "Old Bram waits by", LINE, "the well. He looks", LINE, "worried.", END
found:
    db "You found a", LINE, "candle! You carry", LINE, COUNT, " now.", END
bram_asks:
    db "BRAM: The storm", LINE, "blew my candles", LINE, "all over town!", PAGE
    db "Bring me four and", LINE, "we can walk.", LINE, "You carry ", COUNT, ".", END
bram_gives:
    db "BRAM: Four! Bless", LINE, "your muddy boots.", PAGE
    db "I lit this flame.", LINE, "Bring it to Wick,", LINE, "deep in the cellar", PAGE
    db "Only he knows the", LINE, "song that wakes", LINE, "the old lanterns.", END
bram_waits:
    db "BRAM: Wick sits in", LINE, "the dark. Take the", LINE, "hatch, it is near.", END
bram_ends:
    db "BRAM: That song!", LINE, "Hum it again...", PAGE
    db "Look! The lanterns", LINE, "are waking up!", PAGE
    db "Come, little one.", LINE, "Tonight you lead", LINE, "the Lantern Walk.", END
wick_dark:
    db "???: Who is there?", LINE, "It is so very dark", LINE, "down here.", PAGE
    db "If only I had some", LINE, "of Bram's fire.", END
wick_sings:
    db "WICK: Ah, a flame!", LINE, "How warm it is.", PAGE
    db "Then listen well:", LINE, "Hmm, hm-hmm, hmm,", LINE, "hm-hmm, hmmm...", PAGE
    db "Hum that to Bram.", LINE, "He will remember.", END
wick_hums:
    db "WICK: Hmm, hm-hmm!", LINE, "Go, hum it to Bram", END
nell:
    db "NELL: Last night", LINE, "something fell on", LINE, "the pond's island.", PAGE
    db "And something blew", LINE, "into the tall", LINE, "grass. Twice!", END
sign_house:
    db "ALDER MERE", LINE, "Three people and", LINE, "one cat", END
sign_hatch:
    db "To the cellar.", LINE, "Mind your head.", LINE, "- Wick", END
water:
    db "Dark, cold water.", END
window:
    db "A candle stands on", LINE, "the window sill of", LINE, "the east room.", END
lantern:
    db "The lantern is", LINE, "asleep.", END
well:
    db "Far below, a drop", LINE, "falls.", END
cat:
    db "Prrrr.", END
table:
    db "Crumbs of ginger-", LINE, "bread.", END
shelf:
    db "", 34, "Songs for Lamps", 34, LINE, "by A. Wick. The", LINE, "pages are torn.", END
hearth:
    db "The fire crackles.", END
bed:
    db "Not tonight! We", LINE, "walk at nightfall.", END
pot:
    db "It smells of thyme", END
barrel:
    db "Cider. It sloshes.", END
