"""Every campaign by its name."""

from campaigns import (
    changing_inputs,
    concurrent_readers,
    injected_cells,
    killed_reviews,
    kills,
    mutated_models,
    mutated_requests,
    random_tables,
    random_texts,
)

_MODULES = (
    mutated_models,
    mutated_requests,
    random_tables,
    random_texts,
    killed_reviews,
    kills,
    changing_inputs,
    injected_cells,
    concurrent_readers,
)
CAMPAIGNS = {module.CAMPAIGN.name: module.CAMPAIGN for module in _MODULES}
