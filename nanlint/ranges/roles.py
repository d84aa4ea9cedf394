"""What a name states of a value: the words people use for logits, probabilities, masks, counts, variances."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from nanlint.ranges.interval import Interval

LOGIT = 150.0
FEATURE = 1e4
HALF_FEATURE = 1e3
COUNT = 1e4


@dataclass(frozen=True, slots=True)
class Role:
    """What a value of this name usually is; `evidence` = its ends are reached by ordinary inputs, zero included."""

    name: str
    range: Interval
    evidence: bool


LOGITS = Interval(-LOGIT, LOGIT)
UNIT = Interval(0.0, 1.0)
MASK = Interval(0.0, 1.0, integer=True)
COUNTS = Interval(0.0, COUNT, integer=True)
LENGTHS = Interval(0.0, FEATURE)

# the first pattern that is found in the name (lower case, words joined by "_") decides
ROLES: tuple[tuple[str, Role], ...] = (
    (r"(^|_)(log_?var(iance)?s?|log_?std|log_?sigma(_?sq)?|log_?sd|log_?scale|log_?ratios?|logratio|log_?alpha|logits?_?scale)(_|$)", Role("log-scale", LOGITS, True)),
    (r"(^|_)(log_?prob(abilitie)?s?|log_?p|log_?q|logp(i|rob)?s?|log_?softmax|log_?likelihoods?|log_?pi|logpacs?)(_|$)", Role("log-probability", Interval(-LOGIT, 0.0), True)),
    (r"(^|_)(logits?|scores?|preactivations?|emissions?)(_|$)", Role("logits", LOGITS, True)),
    (r"(^|_)(probs?|probabilit(y|ies)|probas?|opacit(y|ies)|p_?hat|softmaxed)(_|$)", Role("probability", UNIT, True)),
    (r"(^|_)(masks?|is_?valid)(_|$)", Role("mask", MASK, True)),
    (r"(^|_)(counts?|n_?valid|num_?(valid|pos|neg|positives?|objs?|boxes)|degrees?|degs?)(_|$)", Role("count", COUNTS, True)),
    (r"(^|_)(running_?var|var|variances?|vars|v_?hat)(_|$)", Role("variance", LENGTHS, True)),
    (r"(^|_)(cosines?|cos_?(sim|theta|angle)?|cosine_?similarity)(_|$)", Role("cosine", Interval(-1.0, 1.0), True)),
    (r"(^|_)(sigmas?|stds?|stddev|scales?|temperatures?|temp|tau|bandwidth|lengthscales?)(_|$)", Role("scale", Interval(0.0, FEATURE, nonzero=True), False)),
    (r"(^|_)(dists?|distances?|norms?|lengths?|areas?|widths?|heights?|radius|radii)(_|$)", Role("length", LENGTHS, False)),
    (r"(^|_)(box(es)?|bbox(es)?|coords?|coordinates|pixels|xyxy|xywh)(_|$)", Role("coordinates", Interval(-FEATURE, FEATURE), False)),
    (r"(^|_)(dirs?|directions?|ray_?dirs?|rays?_?d)(_|$)", Role("direction", Interval(-1.0, 1.0), True)),
    (r"(^|_)(eps|epsilon|tiny|delta)(_|$)", Role("epsilon", Interval(0.0, 1.0, nonzero=True), False)),
)
# what the name is about something of that role, not a value of it
NO_ROLE = re.compile(r"_(powers?|weights?|bias|dims?|size|rate|decay|factors?|coeff?s?|index|idx|ids?|name|type|fn|func|loss|layer|proj|embed(ding)?|tokens?|head|net|ratio_?threshold|threshold|kernel|dtype|shape)$")
PATTERNS = tuple((re.compile(pattern), role) for pattern, role in ROLES)


@lru_cache(maxsize=4096)
def role_of(name: str) -> Role | None:
    """The role that the last part of a dotted name states, if any."""
    last = name.rsplit(".", 1)[-1]
    if not last.isidentifier():
        return None
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", last).lower()
    if words.startswith(("inv_", "inverse_", "num_classes", "n_", "min_", "max_")) and "valid" not in words:
        return None
    if NO_ROLE.search(words):
        return None
    for pattern, role in PATTERNS:
        if pattern.search(words):
            return role
    return None
