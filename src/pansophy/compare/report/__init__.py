"""A comparison in words, tables and pictures.

words     `text` (terminal and shared sentences), `words`, `notebook`
pictures  `views` (what they are drawn from), `drawings`
page      `report`, put together from `pages`, `asked`, `deciding`, `explored` and the
          plain `parts` that `templates/` lay out
"""
