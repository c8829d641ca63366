"""Every rule of an audit stands in the tables, the groups and the planted site that are about it."""

from planted_site import APART, plant

from crawler.audit.rules import OWN, REPORTED_RULES, RULES


def test_ours_each_rule_has_a_plant() -> None:
    planted = plant("http://www.example.com").truth
    missing = [name for name, rule in RULES.items() if rule.family not in APART and not planted.get(name)]
    assert not missing, "tests/planted_members.py plants each rule, with site.expect"


def test_ours_each_rule_has_a_group() -> None:
    missing = [name for name, rule in RULES.items() if rule.family != OWN and name not in REPORTED_RULES]
    assert not missing, "RULE_GROUPS of crawler/audit/rules.py name each family"
