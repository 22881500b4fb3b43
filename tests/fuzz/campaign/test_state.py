"""How far a campaign is, folded from its blocks."""

from __future__ import annotations

from relaxfuzz.fuzz.campaign.state import CampaignState, horizon
from relaxfuzz.fuzz.process.targets import PassStats


def test_a_block_is_planned_by_blocks_before_its_half() -> None:
    assert [horizon(number) for number in (0, 7)] == [0, 0]
    for number in range(8, 200):
        assert number / 4 < horizon(number) <= number / 2


def test_every_block_to_come_has_what_it_is_planned_by() -> None:
    state = CampaignState()
    for committed in range(200):
        assert state.blocks == committed
        for number in range(committed, 2 * committed + 2):
            if horizon(number) <= committed:
                assert state.past_of(number) is state.past[horizon(number)]
        assert len(state.past) <= 3
        state.count(16, {"FuseOps": PassStats(20, acted=3)})
        state.commit(state.seconds + 1)
    assert all(each.acted["FuseOps"] for each in state.past.values())
