"""Instances that are hard for an eviction policy, in exact arithmetic.

The policies here are the transcriptions of cache_worthy.theory, not the replay policies.
"""

from __future__ import annotations

from collections.abc import Mapping

ACTIONS: Mapping[str, str] = {
    "find": "search for an instance on which a policy exceeds k/(k-h+1)",
    "play": "play the adaptive phase construction against a live policy",
    "check": "run every policy on one instance, beside the exhaustive optimum",
}
