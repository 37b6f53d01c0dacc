"""The parts of the chunker: tokens, blocks, sections, seams, atoms, packing, and topics."""
