"""Print a script that completes commands, options and names in your shell: bash, zsh or fish.

The script lists the names that exist when it is printed: print it again after installing a package that adds some.
Completion itself does not start Python.
"""

from argparse import Action, ArgumentParser, Namespace
from collections.abc import Mapping
from functools import cache
from importlib import import_module

from prunefield.cli.options import make_parser
from prunefield.core.errors import unknown
from prunefield.core.names import FAMILIES, list_based_on, list_presets, modules, read_summary

EXAMPLES = {
    'eval "$(prunefield completion bash)"': "in ~/.bashrc",
    'eval "$(prunefield completion zsh)"': "in ~/.zshrc, after compinit",
    "prunefield completion fish > ~/.config/fish/completions/prunefield.fish": "run once",
}


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("shell", metavar="|".join(SHELLS), help="the shell")


def execute(args: Namespace) -> int:
    if args.shell not in SHELLS:
        raise unknown("shell", args.shell, SHELLS)
    verbs = modules("cli.verbs")
    parsers = {name: make_parser(name, import_module(module)) for name, module in verbs.items()}
    print(SHELLS[args.shell](parsers), end="")
    return 0


def list_words(action: Action) -> list[str]:
    """What an argument takes, if it is one of a few names; none for files, numbers and the like."""
    choices = str(action.metavar or "").split("|")  # such as list|get|verify
    return _list_families().get(action.dest, choices if len(choices) > 2 and choices[0].islower() else [])


@cache
def _list_families() -> dict[str, list[str]]:
    """The names that arguments take, by the name of the argument."""
    items = list(modules("papers"))
    papers = list(dict.fromkeys(name.partition("/")[0] for name in items))
    return {
        "items": [*papers, *items],
        "papers": papers,
        "family": ["items" if family == "papers" else family for family in FAMILIES],
        "model": [*modules("networks"), *list_presets("networks")],
        "engine": list(modules("engines")),
        "log": list(modules("loggers")),
        "score": list(modules("scores")),
        "data": list(modules("tasks")),
        "kind": list(modules("runs")),
        "scale": ["smoke", "laptop", "night", "paper"],
        "scope": ["global", "layer", "uniform", "erk"],
        "schedule": ["exponential", "linear"],
        "sample": ["never", "last", "every"],
        "device": ["cpu", "cuda", "mps"],
    }


def _list_options(parser: ArgumentParser) -> list[Action]:
    return [action for action in parser._actions if action.option_strings]


def _list_positional(parser: ArgumentParser) -> list[str]:
    return [word for action in parser._actions if not action.option_strings for word in list_words(action)]


def _list_named(verb: str) -> list[tuple[list[str], list[str]]]:
    """The actions of a verb that names come after, with these names."""
    if verb != "data":
        return []
    return [(["get", "verify"], list_based_on("tasks", "Published")), (["draw"], _list_families()["data"])]


def _list_names(parser: ArgumentParser) -> list[str]:
    return [name for action in _list_options(parser) for name in action.option_strings]


def _write_cases(parsers: Mapping[str, ArgumentParser]) -> str:
    """For bash and zsh: sets `names` from the command in `verb` and the word before in `before`."""
    lines = ["    case $verb in"]
    for verb, parser in parsers.items():
        lines.append(
            f"      {verb}) names='{' '.join(_list_positional(parser) + _list_names(parser))}'; case $before in"
        )
        for actions, names in _list_named(verb):
            lines.append(f"        {'|'.join(actions)}) names='{' '.join(names)}';;")
        for action in _list_options(parser):
            if action.nargs != 0:
                names = "|".join(action.option_strings)
                lines.append(f"        {names}) names='{' '.join(list_words(action))}';;")
        lines.append("        esac;;")
    return "\n".join([*lines, "    esac"])


def write_bash(parsers: Mapping[str, ArgumentParser]) -> str:
    return f"""_prunefield() {{
  local verb="${{COMP_WORDS[1]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" names=''
  if [ "$COMP_CWORD" -eq 1 ]; then
    names='{" ".join(parsers)} --help --version'
  else
{_write_cases(parsers)}
  fi
  COMPREPLY=($(compgen -W "$names" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o bashdefault -o default -F _prunefield prunefield
"""


def write_zsh(parsers: Mapping[str, ArgumentParser]) -> str:
    return f"""#compdef prunefield
_prunefield() {{
  local verb="${{words[2]}}" before="${{words[CURRENT-1]}}" place=$CURRENT
  local names=''
  if (( place == 2 )); then
    names='{" ".join(parsers)} --help --version'
  else
{_write_cases(parsers)}
  fi
  [[ -n $names ]] && compadd -- ${{=names}} || _files
}}
compdef _prunefield prunefield
"""


def write_fish(parsers: Mapping[str, ArgumentParser]) -> str:
    first = "complete -c prunefield -n __fish_use_subcommand -f"
    lines = [f"{first} -a {verb} -d {_quote(read_summary('cli.verbs', verb))}" for verb in parsers]
    for verb, parser in parsers.items():
        when = f"complete -c prunefield -n '__fish_seen_subcommand_from {verb}'"
        if words := _list_positional(parser):
            lines.append(f"{when} -a '{' '.join(words)}'")
        for actions, words in _list_named(verb):
            lines.append(f"{when[:-1]}; and __fish_seen_subcommand_from {' '.join(actions)}' -f -a '{' '.join(words)}'")
        for action in _list_options(parser):
            names = " ".join(
                f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in action.option_strings
            )
            takes = "" if action.nargs == 0 else " -r"
            words = f" -f -a '{' '.join(list_words(action))}'" if list_words(action) and takes else ""
            lines.append(f"{when} {names}{takes}{words} -d {_quote((action.help or '')[:60])}")
    return "\n".join(lines) + "\n"


def _quote(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SHELLS = {"bash": write_bash, "zsh": write_zsh, "fish": write_fish}
