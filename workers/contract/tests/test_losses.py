"""Common names for the losses that libraries report."""

from __future__ import annotations

from mosaic_contract.episode_logger import with_losses

LOSSES = {"policy_loss": ["*/actor_loss", "pi_loss"], "value_loss": ["*/critic*_loss", "td_loss"]}


def test_losses_get_their_common_names_beside_the_librarys_own() -> None:
    reported = {"update/actor_loss": 1.5, "td_loss": 2.0, "entropy": 0.1}
    assert with_losses(reported, LOSSES) == {**reported, "policy_loss": 1.5, "value_loss": 2.0}


def test_agents_and_twin_critics_count_with_their_mean() -> None:
    reported = {
        "red/actor_loss": 1.0,
        "blue/actor_loss": 2.0,
        "red/critic1_loss": 3.0,
        "red/critic2_loss": 5.0,
    }
    named = with_losses(reported, LOSSES)
    assert (named["policy_loss"], named["value_loss"]) == (1.5, 4.0)


def test_the_first_pattern_that_is_met_counts() -> None:
    named = with_losses({"pi_loss": 8.0, "update/actor_loss": 1.0}, LOSSES)
    assert named["policy_loss"] == 1.0


def test_what_a_library_does_not_report_is_not_added() -> None:
    assert with_losses({"steps_per_second": 9.0}, LOSSES) == {"steps_per_second": 9.0}
