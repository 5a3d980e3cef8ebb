package telegram

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// ErrBarred says that nothing may be said in a chat: the bot is not in it, may not
// send, or its token is not good.
var ErrBarred = errors.New("nothing may be said there")

// MaySpeak asks whether something could be said in a chat, and says nothing there.
// The words are those of ChatMember (Bot API 7).
func (c *Client) MaySpeak(ctx context.Context, chat string) error {
	me, err := c.Me(ctx)
	if err != nil {
		return barred(err)
	}
	id, err := strconv.ParseInt(me, 10, 64)
	if err != nil {
		return fmt.Errorf("cannot ask for the place of the bot in chat %s: its ID is no number", chat)
	}
	var out struct {
		Status  string `json:"status"`
		Inside  *bool  `json:"is_member"`         // of a restricted one
		MaySend *bool  `json:"can_send_messages"` // of a restricted one
		MayPost *bool  `json:"can_post_messages"` // of an administrator of a channel
	}
	if _, err := c.call(ctx, "getChatMember", map[string]any{"chat_id": chat, "user_id": id}, &out); err != nil {
		return barred(fmt.Errorf("cannot ask for the place of the bot in chat %s: %w", chat, err))
	}
	switch {
	case out.Status == "left", out.Status == "kicked", out.Status == "restricted" && isFalse(out.Inside):
		return fmt.Errorf("the bot is not in chat %s (%s): %w", chat, out.Status, ErrBarred)
	case out.Status == "restricted" && isFalse(out.MaySend), out.Status == "administrator" && isFalse(out.MayPost):
		return fmt.Errorf("the bot may not send to chat %s: %w", chat, ErrBarred)
	case out.Status == "member":
		return c.permits(ctx, chat)
	}
	return nil
}

// permits asks whether a chat lets its plain members write.
func (c *Client) permits(ctx context.Context, chat string) error {
	var out struct {
		Permissions struct {
			MaySend *bool `json:"can_send_messages"` // groups have it
		} `json:"permissions"`
	}
	if _, err := c.call(ctx, "getChat", map[string]any{"chat_id": chat}, &out); err != nil {
		return barred(fmt.Errorf("cannot ask what chat %s permits: %w", chat, err))
	}
	if isFalse(out.Permissions.MaySend) {
		return fmt.Errorf("only administrators may send to chat %s: %w", chat, ErrBarred)
	}
	return nil
}

func isFalse(b *bool) bool { return b != nil && !*b }

// barred marks a refusal that is Telegram's own word about the bot or the chat.
func barred(err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	missing := e.Code == http.StatusBadRequest && strings.Contains(e.Says, "chat not found")
	if missing || e.Code == http.StatusUnauthorized || e.Code == http.StatusForbidden || e.Moved != "" {
		return fmt.Errorf("%w: %w", err, ErrBarred)
	}
	return err
}
