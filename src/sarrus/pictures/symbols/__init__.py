"""What each element looks like in a drawing: lines, glyphs and letters, in three dimensions and on paper."""
