"""Cards by name, what TensorFlow takes of their memory, and tables that users write."""

from __future__ import annotations

import pytest

from graphmem.errors import TargetError
from graphmem.xla.cards import all_gpus, find_gpu, user_table

GIB = 1 << 30


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("a100", "NVIDIA A100-SXM4-40GB"),
        ("A100 40GB", "NVIDIA A100-SXM4-40GB"),
        ("a100-80gb", "NVIDIA A100-SXM4-80GB"),
        ("RTX 3060 12GB", "NVIDIA GeForce RTX 3060"),
        ("rtx3060", "NVIDIA GeForce RTX 3060"),
        ("3060", "NVIDIA GeForce RTX 3060"),
        ("GeForce RTX 3060 Ti", "NVIDIA GeForce RTX 3060 Ti"),
        ("3080 12GB", "NVIDIA GeForce RTX 3080 12GB"),
        ("rtx 3080", "NVIDIA GeForce RTX 3080"),
        ("v100", "Tesla V100-SXM2-16GB"),
        ("V100 32 GB", "Tesla V100-SXM2-32GB"),
        ("gtx1060", "GeForce GTX 1060 6GB"),
        ("1080ti", "GeForce GTX 1080 Ti"),
        ("T4", "Tesla T4"),
        ("nvidia_l4", "NVIDIA L4"),
        ("L40S", "NVIDIA L40S"),
        ("a10", "NVIDIA A10"),
        ("titan", "NVIDIA TITAN RTX"),
        ("NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3"),
    ],
)
def test_a_card_is_found_by_what_people_call_it(said, name):
    assert find_gpu(said).name == name


def test_every_card_is_found_by_its_own_name_and_aliases():
    for card in all_gpus():
        assert [find_gpu(name) for name in (card.name, *card.aliases)] == [card] * (1 + len(card.aliases))


def test_several_cards_are_listed():
    with pytest.raises(TargetError, match="several cards") as raised:
        find_gpu("rtx 408")
    assert str(raised.value) == (
        "there are several cards called 'rtx 408': NVIDIA GeForce RTX 4080, NVIDIA GeForce RTX 4080 SUPER; say which."
    )


def test_an_unknown_card_is_told_with_those_that_are_near():
    with pytest.raises(TargetError, match="no card is called 'RTX 3065'; did you mean NVIDIA GeForce RTX 3060, "):
        find_gpu("RTX 3065")
    with pytest.raises(TargetError, match=r"^no card is called 'toaster'\. Cards can be added"):
        find_gpu("toaster")
    with pytest.raises(TargetError, match=r"^no card is called ''"):
        find_gpu("")


@pytest.mark.parametrize(
    ("name", "megabytes"),
    [  # "Created device … with N MB memory", as people have published it, of cards that drive no display
        ("P100", 15511),
        ("V100 32GB", 31134),
        ("RTX 2080 Ti", 9637),
        ("A100 40GB", 38482),
        ("A100 80GB", 79261),
        ("RTX 3090", 22455),
        ("A6000", 46874),
        ("RTX 4090", 22288),
        ("L4", 20795),
        ("H100", 78763),
    ],
)
def test_what_tensorflow_takes_of_a_card(name, megabytes):
    assert find_gpu(name).pool_bytes == pytest.approx(megabytes << 20, rel=0.015)


def test_what_tensorflow_leaves_to_the_system():
    left = {
        find_gpu(name).architecture: find_gpu(name).left_bytes >> 20 for name in ("P100", "T4", "A100", "H100", "5090")
    }
    assert left == {"6.0": 500, "7.5": 1050, "8.0": 1536, "9.0": 1800, "12.0": 1800}
    small = find_gpu("slice", [{"slice": {"like": "a100", "memory": "2GiB"}}])
    assert small.left_bytes == 225 << 20


def test_the_description_for_xla_has_the_cards_facts():
    text = find_gpu("a100").target_config()
    for line in (
        "  core_count: 108",
        "  shared_memory_per_core: 167936",
        "  shared_memory_per_block_optin: 166912",
        "  threads_per_core_limit: 2048",
        "  fpus_per_core: 64",
        "  memory_bandwidth: 1555200000000",
        "  l2_cache_size: 41943040",
        "  clock_rate_ghz: 1.41",
        "  device_memory_size: 42331013120",
        "  cuda_compute_capability { major: 8 minor: 0 }",
        'device_description_str: "NVIDIA A100-SXM4-40GB"',
    ):
        assert line in text.splitlines()
    assert "  device_memory_size: 12345" in find_gpu("a100").target_config(12345).splitlines()


CARD = {"capability": "8.6", "memory": "20GiB", "sms": 60, "clock_mhz": 1500, "bandwidth_gb_s": 700, "l2": "6MiB"}


def test_a_card_of_the_users_own():
    card = find_gpu("my card", [{"My Card": {**CARD, "aliases": ["mine"], "source": "its label"}}])
    assert (card.name, card.capability, card.memory_bytes, card.sms) == ("My Card", (8, 6), 20 * GIB, 60)
    assert (card.clock_mhz, card.bandwidth, card.l2_bytes, card.source) == (1500, 700 * 10**9, 6 << 20, "its label")
    assert find_gpu("MINE", [{"My Card": {**CARD, "aliases": ["mine"]}}]).name == "My Card"


def test_a_users_card_takes_the_place_of_one_of_ours_and_of_an_alias():
    assert find_gpu("t4", [{"Tesla T4": {**CARD, "aliases": ["T4"]}}]).memory_bytes == 20 * GIB
    assert find_gpu("a100", [{"Mine": {**CARD, "aliases": ["a100"]}}]).name == "Mine"
    tables = [{"Mine": CARD}, {"Mine": {**CARD, "memory": "1GiB"}}]
    assert find_gpu("mine", tables).memory_bytes == GIB


def test_a_card_like_another():
    card = find_gpu("slice", [{"slice": {"like": "A100", "memory": "20GiB", "sms": 42}}])
    assert (card.capability, card.memory_bytes, card.sms, card.l2_bytes) == ((8, 0), 20 * GIB, 42, 40 << 20)
    assert card.source == "as NVIDIA A100-SXM4-40GB"


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ("12GB", "card 'x' must be a table with capability, memory"),
        ({**CARD, "colour": "red"}, "card 'x' has no 'colour'; it may have aliases, bandwidth_gb_s"),
        ({"memory": "20GiB"}, "card 'x' lacks capability, sms, clock_mhz, bandwidth_gb_s, l2; give them, or"),
        ({"like": "nothing"}, "card 'x' is to be like 'nothing', which is no card that is known"),
        ({**CARD, "capability": "5.2"}, "card 'x': capability must be one of 6.0, 6.1, .* not '5.2'"),
        ({**CARD, "memory": "much"}, "card 'x': memory: 'much' is not a size"),
        ({**CARD, "memory": 0}, "card 'x': memory must be bytes or a size such as 12GiB, not 0"),
        ({**CARD, "l2": True}, "card 'x': l2 must be bytes or a size"),
        ({**CARD, "sms": "many"}, "card 'x': sms must be a number of 1 or more, not 'many'"),
        ({**CARD, "aliases": "y"}, "card 'x': aliases must be a list of names"),
    ],
)
def test_what_is_wrong_with_a_users_card_is_told(row, complaint):
    with pytest.raises(TargetError, match=complaint):
        find_gpu("a100", [{"x": row}])


def test_the_users_file(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    assert user_table() == {}
    file = tmp_path / "graphmem" / "gpus.toml"
    file.parent.mkdir()
    file.write_text('[gpus]\n"Slice" = { like = "A100", memory = "20GiB" }\n')
    assert user_table() == {"Slice": {"like": "A100", "memory": "20GiB"}}
    assert find_gpu("slice", [user_table()]).memory_bytes == 20 * GIB
    file.write_text("[gpus\n")
    with pytest.raises(TargetError, match=r"gpus\.toml cannot be read"):
        user_table()
    file.write_text("memory = 3\n")
    with pytest.raises(TargetError, match=r"gpus\.toml needs a table \[gpus\]"):
        user_table()
