"""How the command explains itself: its list of commands, and what shells complete."""

from pathlib import Path

from run import siteatlas


def test_ours_the_list_of_commands_tells_each_in_a_whole_sentence(tmp_path: Path) -> None:
    told = " ".join(siteatlas(tmp_path, "--help").out.split())
    assert "the site itself does not link. " in told
    assert "..." not in told.partition("Commands:")[2]


def test_ours_a_shell_completes_commands_and_options(tmp_path: Path) -> None:
    def completed(typed: str) -> list[str]:
        about = {"COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
        return siteatlas(tmp_path, anew=True, _SITEATLAS_COMPLETE="complete_bash", **about).out.split()

    assert completed("siteatlas ro") == ["robots", "rollback"]
    assert completed("siteatlas audit --ba") == ["--basic-auth", "--backlinks"]
