package daemon

import (
	"context"

	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/report"
)

// situation answers a person's question by what is so.
func (s *system) situation(ctx context.Context, question ledger.Verb) (string, error) {
	past, err := s.recall(ctx)
	if err != nil {
		return "", err
	}
	snap := s.board.Snapshot()
	if question == ledger.ReplyStuck {
		return ledger.StuckAnswer(snap, past), nil
	}
	return ledger.StatusAnswer(snap, past, s.policy(fleet.PatrolOrder{}), report.Status(snap)), nil
}
