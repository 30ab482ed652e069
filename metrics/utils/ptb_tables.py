"""What the tokenizer of captions (`ptb.py`) knows by heart: word lists, spellings and classes of characters.

Every entry was found by observing the original program on made-up inputs, not by reading it.
"""

# Words that keep their final period, in any case. Single letters and chains like u.s. need no list.
ABBREVIATIONS = """
    adj adm adv alex assoc asst atty attys ave brig capt cf cie cmdr col comdr cpl dept det dr drs elec ens ft gen gov
    govs hon insp invt jos lieut lt maj messrs mlle mme mr mrs ms msgr mt natl pfc ph pres prof profs pvt rep reps
    rev sen sens sfc sgt spc st ste supt supts treas vs wm
""".split()

# The same, but they mostly end a name or a sentence: one letter after the period does not make a chain of them
# (inc.Y are two tokens, where mr.Y is one).
FINAL_ABBREVIATIONS = """
    jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thurs fri
    ala ariz calif colo conn ct dak fla ga ind kan kans ky md mich minn mo mont neb nev okla penn tenn va vt wis wisc
    wyo al assn bancorp bhd bldg blvd bros co corp cos esq est etc ext inc intl jr ltd ph.d plc rd rt seq sq sr sys tel
    univ
""".split()

# Words that keep it only when written with a capital: in lower case they are words of their own (ill, wash).
CAPITALIZED_ABBREVIATIONS = "Ark Az Del Ill La Mass Miss Ore Pa Tex Wash".split()

# Words that keep it unless a certain letter is a capital: expressions of `ABBREVIATIONS`, of `FINAL_ABBREVIATIONS`.
MIXED_CASE_ABBREVIATIONS = "[Mm][ft][Gg]"
MIXED_CASE_FINAL_ABBREVIATIONS = "[Pp]{1,2}[Tt][ey][Ss]?"
# All of them as they look in lower case.
MIXED_CASE_WORDS = "mfg mtg pte pty ppte ppty ptes ptys".split()
# In capitals, some keep it in front of one word (PTY. LTD.).
COMPANY_ABBREVIATIONS = "[Pp][Tt][EY]"
COMPANY_WORDS = "(?i:ltd|lim)"

# Words that keep it only in front of a number (no. 5).
NUMBER_ABBREVIATIONS = "art ca fig figs no nos op pp prop".split()

# One-word spellings of two words, with a blank where they are cut.
ASSIMILATIONS = "can not|gim me|gon na|got ta|lem me|wan na".split("|")

# Words that keep a hyphen at their end (pro- and anti-war).
PREFIXES = "anti pro".split()

# Words whose apostrophe begins no clitic: inside, at the end, at the start. Letters may follow (li'ls are two tokens).
APOSTROPHE_INSIDE = "c'mon e'er li'l nat'l s'mores".split()
ANY_APOSTROPHE_INSIDE = "cap'n c'est".split()
APOSTROPHE_LAST = "dunkin somethin ol".split()
APOSTROPHE_FIRST = "cause em till til".split()

# A file name may start with a digit when it ends like this. Others are words joined by periods. With x: version 3.x.
FILE_EXTENSIONS = """
    bat bmp c cgi class cpp dll doc docx exe gif gz h htm html jar java jpeg jpg mov mp3 pdf php pl png ppt ps py sql
    tar txt wav x xml zip
""".split()

# Words that start sentences when written with a capital: the letter and period before them are no initial
# (plan b. The ...).
SENTENCE_STARTERS = """
    A About According Additionally After An As At But Earlier He Her Here However If In It Last Many More Now Once
    One Other Our Since She So Some Such That The Their Then There These They This We What When While Yet You
""".split()

BRACKETS = {"(": "-lrb-", ")": "-rrb-", "[": "-lsb-", "]": "-rsb-", "{": "-lcb-", "}": "-rcb-"}

# Tokens that are spelled differently in the output. U+0080 is the euro of Windows code page 1252.
SPELLINGS = {
    **BRACKETS,
    **{"\u00a3": "\x23", "\u00a2": "cents", **dict.fromkeys("\u20ac\x80\u00a4\u20a0", "$")},
    **{"\u00bc": "1/4", "\u00bd": "1/2", "\u00be": "3/4", "\u2153": "1/3", "\u2154": "2/3"},
    **{"&amp;": "&", "&lt;": "<", "&gt;": ">"},
}

# Quotes that make one token when two of them touch, and their spellings.
QUOTES = {
    **dict.fromkeys("`\u2018\u201b\u2039\x91", "`"),
    **dict.fromkeys("\u2019\u203a\x92", "'"),
    **dict.fromkeys("\u201c\xab\x93", "``"),
    **dict.fromkeys("\u201d\xbb\x94", "''"),
    **{quote: quote for quote in "\u201a\u201e\u201f"},
}

# Marks that are parts of words like letters are (accents, vowel signs, modifiers): code points and ranges of them.
WORD_MARKS = """
    2C2-2C5 2D2-2DF 2E5-2EB 2ED 2EF-36F 375 378-379 384-385 3F6 483-487 55A-55F 591-5BD 5BF 5C1-5C2 5C4-5C5 5C7
    615-61A 64B-65E 670 6D6-6E4 6E7-6ED 6FD-6FE 70F 711 730-74C 7A6-7B0 7EB-7F3 900-903 93C 93E-94E 951-955 962-963
    981-983 9BC 9BE-9C4 9C7-9C8 9CB-9CD 9D7 9E2-9E3 A01-A03 A3C A3E-A4F A81-A83 ABC ABE-ACF B82 BBE-BC2 BC6-BC8
    BCA-BCD C01-C03 C3E-C56 D3E-D44 D46-D48 E31 E34-E3A E47-E4E EB1 EB4-EBC EC8-ECD 1885-1886
"""

# Characters that are tokens of their own. What is neither here nor part of a word only separates (emoji, for one).
SYMBOLS = """
    23-26 2A-2B 2F 3C-3E 40 5C 5E 5F 7C 7E 80 A1-A9 AC AE-B4 B6-B9 BC-BF D7 F7 37E 387 589 5BE 5C0 5C3 5C6
    5F3-5F4 600-603 606-60C 614 61B 61E-61F 66A 66D 6D4 700-70D 7F6-7F8 964-965 E3F E4F 1FBD 2016-2017 201A 201E-2023
    2030-2038 203B 203E-2042 2044 2070 2074-207E 2080-208E 20A0 20A4 20AC 2100-2101 2103-2106 2108-2109 2114 2116-2118
    211E-2123 2125 2127 2129 212E 213A-213B 2140-2144 214A-214D 214F 2153-215E 2190-2BFF 3001-3002 3012 30FB FF01-FF0F
    FF1A-FF20 FF3B-FF40 FF5B-FF65 FFE0-FFE1 FFE5-FFE6
"""
