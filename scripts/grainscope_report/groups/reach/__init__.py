"""The translation wall: how far rows at random reach before translating addresses decides."""
