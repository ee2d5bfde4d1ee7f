// Put into the search of the theme: its weights are those of Sphinx, but what explains comes before what lists.
var Scorer = {
  score: ([page, , , , score]) => score + (page.startsWith("docs/schemes/") ? 2 : page.startsWith("docs/") ? 1 : 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};

// A page that is opened from a file may not read others to show an excerpt of them.
if (location.protocol === "file:") addEventListener("DOMContentLoaded", () => (DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false), true);
