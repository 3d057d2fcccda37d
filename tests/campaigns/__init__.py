"""Campaigns: thousands of hostile cases, each made from a seed and judged by what is allowed."""
