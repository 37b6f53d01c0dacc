"""Tests of the plan sandbox: what plans can do, what bounds them, and what attacks gain."""
