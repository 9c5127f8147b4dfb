"""Short descriptions of NetHack's actions, by their BALROG names."""

from __future__ import annotations

_DIRECTIONS = ("north", "east", "south", "west", "northeast", "southeast", "southwest", "northwest")

COMPASS = {
    **{name: f"move {name}" for name in _DIRECTIONS},
    **{f"far {name}": f"move {name} until something is in the way" for name in _DIRECTIONS},
    "up": "go up the stairs that you stand on",
    "down": "go down the stairs that you stand on",
    "wait": "do nothing for one move",
    "more": "show the rest of the message, where it ends with --More--",
}

OTHERS = ("more", "minus", "space", "apos", *map(str, range(10)))
"""Keys that answer the game's questions, in addition to the commands."""

COMMANDS = {
    "annotate": "write a note about this level",
    "apply": "use a tool",
    "call": "give a name to a monster, an object or a level",
    "cast": "cast a spell",
    "close": "close a door next to you",
    "dip": "dip one object into another",
    "drop": "drop an object",
    "droptype": "drop objects of the kinds that you then choose",
    "eat": "eat something, which you need when you are hungry",
    "engrave": "write on the floor; Elbereth keeps many monsters away",
    "enhance": "look at your weapon skills, and advance them",
    "esc": "leave a menu, a message or a question",
    "fight": "attack in a direction, even where you only suspect a monster",
    "fire": "shoot what is in your quiver",
    "force": "force a lock open",
    "inventory": "list what you carry",
    "invoke": "use the special power of an object",
    "jump": "jump to another place",
    "kick": "kick a monster, a door, a chest",
    "look": "look at what lies under you",
    "loot": "open a box on the floor",
    "monster": "use the special ability of the monster that you have become",
    "offer": "sacrifice something on an altar",
    "open": "open a door next to you",
    "overview": "list what you know of the dungeon",
    "pay": "pay what you owe in a shop",
    "pickup": "pick up what lies here",
    "pray": "ask the gods for help",
    "puton": "put on a ring or an amulet",
    "quaff": "drink something",
    "quiver": "choose what to shoot",
    "read": "read a scroll or a spellbook",
    "remove": "take off a ring or an amulet",
    "rub": "rub a lamp or a stone",
    "search": "search for hidden doors and passages around you",
    "swap": "change between your two weapons",
    "takeoff": "take off one piece of armour",
    "takeoffall": "take off all armour",
    "teleport": "teleport, if you can",
    "throw": "throw something",
    "travel": "walk to a place: answer with > or < for stairs, _ for an altar",
    "twoweapon": "begin or stop to fight with two weapons",
    "untrap": "disarm a trap",
    "wear": "put on armour",
    "wield": "take a weapon in hand",
    "wipe": "wipe your face",
    "zap": "use a wand",
}

MINIHACK_COMMANDS = frozenset(
    [
        "apply",
        "close",
        "open",
        "eat",
        "force",
        "kick",
        "loot",
        "pickup",
        "pray",
        "puton",
        "quaff",
        "search",
        "zap",
    ]
)

NETHACK_HINTS = """\
- A question such as "What do you want to eat? [dgh or ?*]" is answered with one character: d, g or h.
- A question for a direction is answered with a direction.
- A message that ends with --More-- goes on after the action more.
- Look for the stairs that lead down, and take them.
- The last message says what your last action did: read it first.
- A wall or solid stone stops you: change the direction, and go on exploring.
- The lines of what is in sight and the map say where to go.
- You attack a monster by moving into it."""
