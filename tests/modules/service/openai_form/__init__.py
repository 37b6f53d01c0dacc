"""Tests of `modules/service/openai_form/`."""
