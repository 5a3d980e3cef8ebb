// Package docgraph draws the structural graph of a project: its documents and
// their sections, its objectives and what they need, its agents, formulas,
// evidence and issues, and which of them refers to which. From the graph it
// says what nothing refers to, what blocks itself in a circle, what much depends
// on, which objectives rest on little, and which parts have nothing to do with
// the rest.
//
// It reads, from one folder: every Markdown document; objectives, their
// prerequisites and their status from a prerequisite tree (prerequisite-tree.md,
// prerequisites.md), from a heading "Objective: …" anywhere, and from the
// sections Objectives, Goals and Milestones of VISION.md; agents from the
// AGENTS.md of their folders; formulas from TOML files in a folder formulas; and
// what lies below evidence. Issues are given to it, or there are none.
//
// What it reads was written by agents and strangers. It follows no link of the
// file system and never leaves the folder, opens nothing but regular files, reads
// at most MaxFiles files of MaxFile bytes each and MaxBytes together, keeps a
// bounded number of nodes and edges, and ends when its context does. What was
// left out for that is part of the answer. The same folder and the same issues
// always give the same graph.
package docgraph
