; Tiles of Lantern Walk: . - o # are shades 0 to 3. Sprites from $00, font at its ASCII codes from
; $20, the world from $80. A picture of 16x16 pixels is four tiles: NAME to NAME+3.

; ---- sprites (. is transparent) ------------------------------------------------------------------

sprite_tiles:

HERO_DOWN equ (@ - sprite_tiles) / 16
    gfx
    .....######.....
    ...##oooooo##...
    ..#oooooooooo#..
    ..#oooooooooo#..
    ..#o########o#..
    .##-#------#-##.
    .#---#----#---#.
    .#---#----#---#.
    ..##--------##..
    ...####--####...
    ..#oo#----#oo#..
    .#-#oooooooo#-#.
    .#-#oo####oo#-#.
    ..##oo#..#oo##..
    ...#oo#..#oo#...
    ....##....##....
    endgfx

HERO_DOWN_STEP equ (@ - sprite_tiles) / 16
    gfx
    ................
    .....######.....
    ...##oooooo##...
    ..#oooooooooo#..
    ..#oooooooooo#..
    ..#o########o#..
    .##-#------#-##.
    .#---#----#---#.
    .#---#----#---#.
    ..##--------##..
    ...####--####...
    ..##o#----#oo#..
    .#-#oooooooo#-#.
    .##ooo###ooo##..
    ..#oo#...####...
    ...##...........
    endgfx

HERO_UP equ (@ - sprite_tiles) / 16
    gfx
    .....######.....
    ...##oooooo##...
    ..#oooooooooo#..
    ..#oooooooooo#..
    ..#oooooooooo#..
    .##oooooooooo##.
    .#-#oooooooo#-#.
    .#--#oooooo#--#.
    ..##-######-##..
    ...####--####...
    ..#oo######oo#..
    .#-#oooooooo#-#.
    .#-#oooooooo#-#.
    ..##oo####oo##..
    ...#oo#..#oo#...
    ....##....##....
    endgfx

HERO_UP_STEP equ (@ - sprite_tiles) / 16
    gfx
    ................
    .....######.....
    ...##oooooo##...
    ..#oooooooooo#..
    ..#oooooooooo#..
    ..#oooooooooo#..
    .##oooooooooo##.
    .#-#oooooooo#-#.
    .#--#oooooo#--#.
    ..##-######-##..
    ...####--####...
    ..##o######oo#..
    .#-#oooooooo#-#.
    .##ooo###ooo##..
    ..#oo#...####...
    ...##...........
    endgfx

HERO_LEFT equ (@ - sprite_tiles) / 16
    gfx
    .....######.....
    ...##oooooo##...
    ..#oooooooooo#..
    ..#oooooooooo#..
    .#######ooooo#..
    ..#----#-#oo#...
    ..#-#----##o#...
    ..#-#-----#-#...
    ...#-------#....
    ....##--###.....
    ....#oo#ooo#....
    ....#o#--#o#....
    ....#o#--#o#....
    ....#oo##oo#....
    .....#oooo#.....
    ......####......
    endgfx

HERO_LEFT_STEP equ (@ - sprite_tiles) / 16
    gfx
    ................
    .....######.....
    ...##oooooo##...
    ..#oooooooooo#..
    ..#oooooooooo#..
    .#######ooooo#..
    ..#----#-#oo#...
    ..#-#----##o#...
    ..#-#-----#-#...
    ...#-------#....
    ....##--###.....
    ...##oo#oooo#...
    ...#-##oo##-#...
    ....#oooooo##...
    ...#oo#.#ooo#...
    ...###...###....
    endgfx

; What drifts about: a firefly (two pictures), a leaf, a mote of dust; and the flame we carry.
FIREFLY equ (@ - sprite_tiles) / 16
    gfx
    ................
    ...........o....
    ...o......o-o...
    ..o-o....o---o..
    ...o......o-o...
    ...........o....
    ................
    ................
    endgfx

LEAF equ (@ - sprite_tiles) / 16
    gfx
    ................
    ....##..........
    ...#oo#.........
    ..#o-o#.....o...
    ..#oo#..........
    ..###...........
    .#..............
    ................
    endgfx
MOTE equ LEAF + 1

FLAME equ (@ - sprite_tiles) / 16
    gfx
    ...##...
    ...#-#..
    ..#--#..
    ..#---#.
    .#--o-#.
    .#-oo-#.
    ..#oo#..
    ...##...
    endgfx
sprite_tiles_end:

; ---- the world -----------------------------------------------------------------------------------

world_tiles:

BLANK equ (@ - world_tiles) / 16 + $80
    gfx
    ########
    ########
    ########
    ########
    ########
    ########
    ########
    ########
    endgfx

GRASS equ (@ - world_tiles) / 16 + $80
MEADOW equ GRASS + 1
    gfx
    ----------------
    -----.----------
    ----.-----------
    ----------------
    -.--------------
    .---------------
    ----------------
    ----------------
    endgfx

FLOWER equ (@ - world_tiles) / 16 + $80
    gfx
    --------
    --..----
    -.##.---
    -.##.---
    --..--o-
    ---o-o--
    ---oo---
    ---o----
    endgfx

TALL equ (@ - world_tiles) / 16 + $80
    gfx
    -o---o--
    -o-o-o-o
    oo-o-ooo
    -oooo-o-
    -o-oo-oo
    ooooo-oo
    -oo-ooo-
    -o--o-o-
    endgfx

PATH equ (@ - world_tiles) / 16 + $80
    gfx
    ........
    ........
    ......-.
    ........
    .-......
    ........
    ........
    ....-...
    endgfx

WATER equ (@ - world_tiles) / 16 + $80
    gfx
    oooooooo
    o--ooooo
    -oo-oooo
    oooooooo
    ooooo--o
    oooo-oo-
    oooooooo
    oooooooo
    endgfx

BRIDGE_LEFT equ (@ - world_tiles) / 16 + $80
BRIDGE_RIGHT equ BRIDGE_LEFT + 1
    gfx
    o##..........##o
    o##..........##o
    o##----------##o
    o##############o
    o##..........##o
    o##..........##o
    o##----------##o
    o##############o
    endgfx

TREE equ (@ - world_tiles) / 16 + $80
    gfx
    -----######-----
    ---##oooooo##---
    --#oo--ooooo-#--
    -#oo-oooooo-oo#-
    -#o-ooo-ooooooo#
    #ooooo-oooooooo#
    #o-ooooooo-oooo#
    #oooooooo-ooo-o#
    #ooo-ooooooo-oo#
    -#o-ooooo-oooo#-
    -##oooo-ooooo##-
    --###oooooo###--
    ---o##o##o##o---
    ----oo#oo#oo----
    -----o#oo#oo----
    ------####------
    endgfx

PINE equ (@ - world_tiles) / 16 + $80
    gfx
    -------##-------
    ------#oo#------
    ------#-o#------
    -----#-ooo#-----
    ----#oo-ooo#----
    ----##-oooo#----
    ----#oooo-##----
    ---#oo-ooooo#---
    --#oo-oooooo##--
    --###oo-ooo##---
    --#oooo-ooooo#--
    -#oo--ooo-oooo#-
    -##oooooooooo##-
    --#####oo#####--
    ------#oo#------
    -------##-------
    endgfx

ROOF equ (@ - world_tiles) / 16 + $80
    gfx
    ########
    o--o---o
    o--o---o
    oooooooo
    ########
    --o---o-
    --o---o-
    oooooooo
    endgfx

ROOF_LEFT equ (@ - world_tiles) / 16 + $80
    gfx
    ------##########
    -----#-o---o---o
    ----#--o---o---o
    ----#ooooooooooo
    ---#############
    ---#-o---o---o--
    --#--o---o---o--
    --#ooooooooooooo
    -###############
    -#-o---o---o---o
    #--o---o---o---o
    #ooooooooooooooo
    ################
    #o---o---o---o--
    #o---o---o---o--
    #ooooooooooooooo
    endgfx

ROOF_RIGHT equ (@ - world_tiles) / 16 + $80
    gfx
    ##########------
    -o---o---o#-----
    -o---o---o-#----
    oooooooooooo#---
    #############---
    ---o---o---o#---
    ---o---o---o-#--
    ooooooooooooo#--
    ##############--
    -o---o---o---o#-
    -o---o---o---o-#
    ooooooooooooooo#
    ################
    ---o---o---o---#
    ---o---o---o---#
    ooooooooooooooo#
    endgfx

HOUSE equ (@ - world_tiles) / 16 + $80
    gfx
    ########
    ...-....
    ...-....
    --------
    .......-
    .......-
    --------
    ...-....
    endgfx

WINDOW equ (@ - world_tiles) / 16 + $80
    gfx
    ################
    ...-...-...-...-
    ..############..
    --#..oo#..oo##--
    ..#.oo.#.oo.##..
    ..#oo..#oo..##..
    --#o..o#o..o##--
    ..############..
    ..#..oo#..oo##..
    ..#.oo.#.oo.##..
    --#oo..#oo..##--
    ..############..
    .-------------..
    -###############
    ...-...-...-...-
    ################
    endgfx

DOOR equ (@ - world_tiles) / 16 + $80
    gfx
    ################
    ...##########...
    --##oooooooo##--
    .##oo#oo#oo#o##.
    .#ooo#oo#oo#oo#.
    -#ooo#oo#oo#oo#-
    .#ooo#oo#oo#oo#.
    .#ooo#oo#oo#oo#.
    -#ooo#oo#oo#oo#-
    .#ooo#oo#oo#..#.
    .#ooo#oo#oo#..#.
    -#ooo#oo#oo#oo#-
    .#ooo#oo#oo#oo#.
    .#ooo#oo#oo#oo#.
    -#ooo#oo#oo#oo#-
    ################
    endgfx

LANTERN equ (@ - world_tiles) / 16 + $80
    gfx
    ------####------
    -----######-----
    ----########----
    -----#oooo#-----
    -----#oooo#-----
    -----#oooo#-----
    -----#oooo#-----
    ----########----
    -----######-----
    -------##-------
    -------##-------
    -------##-------
    -------##-------
    -------##-------
    ------####------
    -----######-----
    endgfx

SIGN equ (@ - world_tiles) / 16 + $80
    gfx
    ----------------
    -##############-
    -#............#-
    -#.##.###.##..#-
    -#............#-
    -#.###.##.###.#-
    -#............#-
    -##############-
    -oooooooooooooo-
    ------#..#------
    ------#..#------
    ------#..#------
    ------#..#------
    ----o-#..#-o----
    -----o####o-----
    ----------------
    endgfx

FENCE equ (@ - world_tiles) / 16 + $80
    gfx
    ---##---
    --#..#--
    --#..#--
    ###..###
    ...##...
    ###..###
    --#..#--
    --#..#--
    ###..###
    ...##...
    ###..###
    --#..#--
    --#..#--
    --####--
    -o----o-
    --------
    endgfx

WELL equ (@ - world_tiles) / 16 + $80
    gfx
    --############--
    -#o-oo-oo-oo-o#-
    #oo-oo-oo-oo-oo#
    ################
    --#.#------#.#--
    --#.#--##--#.#--
    --#.#-#oo#-#.#--
    --#.#-####-#.#--
    -##############-
    #..oo########..#
    #..oo########oo#
    ################
    #..#....#....#.#
    #..#....#....#.#
    ################
    -##############-
    endgfx

HATCH equ (@ - world_tiles) / 16 + $80
    gfx
    ----------------
    -##############-
    #o############o#
    #o#..........#o#
    #o#.########.#o#
    #o#.########.#o#
    #o#..........#o#
    #o##.######.##o#
    #o##.######.##o#
    #o##........##o#
    #o###.####.###o#
    #o###.####.###o#
    #o###......###o#
    #o############o#
    -##############-
    ----------------
    endgfx

CANDLE equ (@ - world_tiles) / 16 + $80
    gfx
    ----------------
    -------#--------
    ------#.#-------
    ------#.#-------
    -----#..#-------
    -----#.o#-------
    ------##--------
    -----####-------
    -----#..#-------
    -----#..#-------
    -----#..#-------
    -----#.o#-------
    ---###.o###-----
    ---#oooooo#-----
    ----######------
    ----------------
    endgfx

BRAM equ (@ - world_tiles) / 16 + $80
    gfx
    -----######-----
    ----########----
    ----########----
    --############--
    ---#........#---
    ---#.#....#.#---
    ---#...oo...#---
    ---#.oooooo.#---
    ----#oooooo#--#-
    ---##oooooo##-#-
    --#oo#oooo#oo##-
    -#.#oo#oo#oo#.#-
    --##oo####oo##.#
    ---#oooooooo#-#-
    ---#oo#--#oo#-#-
    ----##----##--#-
    endgfx

NELL equ (@ - world_tiles) / 16 + $80
    gfx
    ----------------
    ----########----
    ---#........#---
    --#..######..#--
    --#.#......#.#--
    -#.##.#..#.##.#-
    -#.##.#..#.##.#-
    -#.#........#.#-
    --##........##--
    ----########----
    ---#oo#..#oo#---
    --#.#oo##oo#.#--
    ---##oooooo##---
    ---#oooooooo#---
    ---#oooooooo#---
    ----########----
    endgfx

; ---- indoors -------------------------------------------------------------------------------------

BOARDS equ (@ - world_tiles) / 16 + $80
    gfx
    ........
    ........
    ........
    --------
    ........
    ........
    ........
    --------
    endgfx

WALL_TOP equ (@ - world_tiles) / 16 + $80
    gfx
    oooooooo
    oooooooo
    oooooooo
    oooooooo
    oooooooo
    oooooooo
    oooooooo
    oooooooo
    endgfx

WALL equ (@ - world_tiles) / 16 + $80
    gfx
    ########
    --------
    -.---.--
    --------
    ---.---.
    --------
    -.---.--
    --------
    --------
    ---.---.
    --------
    ########
    .o...o..
    .o...o..
    .o...o..
    ########
    endgfx

RUG equ (@ - world_tiles) / 16 + $80
    gfx
    -------oo-------
    ------o--o------
    -----o----o-----
    ----o--oo--o----
    ---o--o..o--o---
    --o--o....o--o--
    -o--o......o--o-
    o--o...##...o--o
    o--o...##...o--o
    -o--o......o--o-
    --o--o....o--o--
    ---o--o..o--o---
    ----o--oo--o----
    -----o----o-----
    ------o--o------
    -------oo-------
    endgfx

MAT equ (@ - world_tiles) / 16 + $80
    gfx
    o.o.o.o.o.o.o.o.
    oooooooooooooooo
    o-------------oo
    o-o-o-o-o-o-o-oo
    o------##-----oo
    o-o----##---o-oo
    o------##-----oo
    o-o----##---o-oo
    o---########--oo
    o-o--######-o-oo
    o-----####----oo
    o-o----##---o-oo
    o-------------oo
    o-o-o-o-o-o-o-oo
    oooooooooooooooo
    .o.o.o.o.o.o.o.o
    endgfx

TABLE equ (@ - world_tiles) / 16 + $80
    gfx
    ................
    .##############.
    #..............#
    #....###.......#
    #...#..#...##..#
    #...#..##.#--#.#
    #...####...##..#
    #..............#
    ################
    #oooooooooooooo#
    ################
    .#o#........#o#.
    .#o#........#o#.
    .#o#--------#o#.
    .###........###.
    ................
    endgfx

CANDLE_IN equ (@ - world_tiles) / 16 + $80
    gfx
    ................
    .......#........
    ......#-#.......
    ------#-#-------
    .....#--#.......
    .....#-o#.......
    ......##........
    -----####-------
    .....#..#.......
    .....#..#.......
    .....#..#.......
    -----#.o#-------
    ...###.o###.....
    ...#oooooo#.....
    ....######......
    ----------------
    endgfx

SHELF equ (@ - world_tiles) / 16 + $80
    gfx
    ################
    #--------------#
    #-##-oo#..#o##-#
    #-#o#oo#..#o#o##
    #-#o#oo#..#o#o##
    #-#o#oo#..#o#o##
    ################
    #--------------#
    ##o#.#oo##o#...#
    ##o#.#oo##o#..##
    ##o#.#oo##o#.#.#
    ##o#.#oo##o##..#
    ################
    #oooooooooooooo#
    #o############o#
    ################
    endgfx

HEARTH equ (@ - world_tiles) / 16 + $80
    gfx
    ################
    #--o---o---o---#
    #ooooooooooooooo
    #-o---o---o---o#
    ################
    #--##########--#
    #o############o#
    #-####.###.###-#
    #o###..#..####o#
    #-###.o..o.###-#
    #o##.oo.oo.###o#
    #-##.o#oo#o.##-#
    #o###oooooo###o#
    #-##oooooooo##-#
    ################
    #oooooooooooooo#
    endgfx

BED equ (@ - world_tiles) / 16 + $80
    gfx
    .##############.
    .#oooooooooooo#.
    .##############.
    .#............#.
    .#.##########.#.
    .#.#........#.#.
    .#.##########.#.
    .##############.
    .#-o-o-o-o-o-o#.
    .#o-o-o-o-o-o-#.
    .#-o-o-o-o-o-o#.
    .#o-o-o-o-o-o-#.
    .#-o-o-o-o-o-o#.
    .##############.
    .#oooooooooooo#.
    .##############.
    endgfx

POT equ (@ - world_tiles) / 16 + $80
    gfx
    .....#....#.....
    ..##.#.##.#.##..
    .#oo##oo##o#oo#.
    --#oooo##oooo#--
    ..##o#oo#o##o...
    .#oo#o##o#ooo#..
    ..###oooo###....
    ---#########----
    ..#.........#...
    ..###########...
    ...#--o--oo#....
    ---#--o--oo#----
    ...#--o--oo#....
    ....#######.....
    ................
    ----------------
    endgfx

CAT equ (@ - world_tiles) / 16 + $80
    gfx
    ................
    ..#.....#.......
    .#o#...#o#......
    -#oo###oo#------
    .#ooooooo#......
    .#o.#o.#o#...##.
    .#ooooooo#..#oo#
    --#oo#oo#----#o#
    ..##ooo####..#o#
    ...#ooooooo##o#.
    ...#o.ooooooo#..
    ---#o.oooooo#---
    ...#o.oo##oo#...
    ...#o##o#.#o#...
    ...###.##.###...
    ----------------
    endgfx

DOWN equ (@ - world_tiles) / 16 + $80
    gfx
    ################
    #--------------#
    #-############-#
    #-#..........#-#
    #-############-#
    #-#----------#-#
    #-############-#
    #-##oooooooo##-#
    #-############-#
    #-###oooooo###-#
    #-############-#
    #-############-#
    #-############-#
    #-############-#
    #--------------#
    ################
    endgfx

; ---- the cellar ----------------------------------------------------------------------------------

EARTH equ (@ - world_tiles) / 16 + $80
    gfx
    --------
    -----o--
    --------
    -.------
    --------
    ------.-
    --o-----
    --------
    endgfx

ROCK equ (@ - world_tiles) / 16 + $80
    gfx
    ################
    #--oo##-ooooo#-#
    #-ooo#-oooooo#o#
    #oooo#oooooooo##
    #ooo###ooooo###-
    ######-#######-o
    #-oo#-oooo#-oooo
    -oooo#ooooo#oooo
    oooo##ooooo#ooo#
    ##########o#####
    #-ooo#-oo###-oo#
    -ooooo#oo#-oooo#
    oooooo#oo#ooooo#
    oooooo#######o##
    #oooo##-oooo###-
    ################
    endgfx

LADDER equ (@ - world_tiles) / 16 + $80
    gfx
    ---##------##---
    ---##------##---
    ---##########---
    ---#oooooooo#---
    ---##########---
    ---##------##---
    ---##------##---
    ---##########---
    ---#oooooooo#---
    ---##########---
    ---##------##---
    ---##------##---
    ---##########---
    ---#oooooooo#---
    ---##########---
    ---##------##---
    endgfx

BARREL equ (@ - world_tiles) / 16 + $80
    gfx
    ----########----
    --##........##--
    -#..oooooooo..#-
    -#.oooooooooo.#-
    -##..oooooo..##-
    -#o##......##o#-
    -#ooo######ooo#-
    ################
    #.o.o.oo.o.oo.o#
    #.o.o.oo.o.oo.o#
    #.o.o.oo.o.oo.o#
    ################
    -#o.o.oo.o.oo##-
    -##o.o.oo.o.o##-
    ---##########---
    ----------------
    endgfx

WICK equ (@ - world_tiles) / 16 + $80
    gfx
    -----######-----
    ----#oooooo#----
    ---#oo####oo#---
    ---#o#....#o#---
    --#o#......#o#--
    --#o#.#..#.#o#--
    --#o#.#..#.#o#--
    --#o#......#o#--
    --#oo##..##oo#--
    ---#oo####oo#---
    --#ooo####ooo#--
    --#o#oo##oo#o#--
    --#.#oooooo#.#--
    ---##oooooo##---
    ---#oooooooo#---
    ----########----
    endgfx
world_tiles_end:

; Second pictures of what moves or changes: water, and the lanterns once they are lit.

water_pictures:
    gfx
    ooooooooooooooooo--ooooooo--oooo
    oooo--oooooooooo-oo-ooooo-oo-ooo
    ooo-oo-ooo--oooooooooooooooooooo
    ooooooooo-oo-ooooooooo--oooooooo
    o--ooooooooooooooooo--oooo--oooo
    -oo-oooooooo--ooooo-ooooo-oo-ooo
    ooooooooooo-oo-ooooooooooooooooo
    oooooooooooooooooooooooooooooooo
    endgfx

lit_lantern:
    gfx
    -.----####----.-
    --.--######--.--
    ----########----
    -----#....#-----
    ..---#.oo.#---..
    -----#.o..#-----
    ---.-#....#-.---
    --.-########-.--
    endgfx
