package matrix

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// ErrBarred says that nothing may be said in a room: Custos is no member of it, its
// level is too low, or the homeserver does not know its token.
var ErrBarred = errors.New("nothing may be said there")

// levels is the content of m.room.power_levels (client-server API v1.11): a user who is
// not in users has users_default, what is not in events needs events_default, and both
// are 0 where they are not given.
type levels struct {
	Users         map[string]level `json:"users"`
	UsersDefault  level            `json:"users_default"`
	Events        map[string]level `json:"events"`
	EventsDefault level            `json:"events_default"`
}

// level is a number, or in rooms before version 10 a text of one.
type level float64

// UnmarshalJSON reads both; null is 0.
func (l *level) UnmarshalJSON(text []byte) error {
	number := strings.Trim(string(text), "\" ")
	if number == "null" {
		return nil
	}
	n, err := strconv.ParseFloat(number, 64)
	*l = level(n)
	return err
}

func (l levels) may(user, event string) bool {
	has, listed := l.Users[user]
	if !listed {
		has = l.UsersDefault
	}
	needs, listed := l.Events[event]
	if !listed {
		needs = l.EventsDefault
	}
	return has >= needs
}

// creates asks whether a user is above all levels of a room: one of those who made it,
// from version 12 on (MSC4289).
func (c *Client) creates(ctx context.Context, room, user string) (bool, error) {
	var made struct {
		Sender  string `json:"sender"`
		Content struct {
			Version string   `json:"room_version"`
			Also    []string `json:"additional_creators"`
		} `json:"content"`
	}
	if err := c.state(ctx, room, "m.room.create/?format=event", &made); err != nil {
		return false, fmt.Errorf("cannot ask who made room %s: %w", room, err)
	}
	version, err := strconv.Atoi(made.Content.Version)
	return err == nil && version >= 12 && (made.Sender == user || slices.Contains(made.Content.Also, user)), nil
}

// MaySpeak asks whether something could be said in a room, and says nothing there.
func (c *Client) MaySpeak(ctx context.Context, room string) error {
	me, err := c.WhoAmI(ctx)
	if err != nil {
		return barred(err)
	}
	var member struct{ Membership string }
	if err := c.state(ctx, room, "m.room.member/"+url.PathEscape(me), &member); err != nil {
		return barred(fmt.Errorf("cannot ask for the membership of %s in room %s: %w", me, room, err))
	}
	if member.Membership != "join" {
		return fmt.Errorf("%s is no member of room %s (%s): %w", me, room, member.Membership, ErrBarred)
	}
	return c.mayByLevel(ctx, room, me)
}

// mayByLevel holds the level of a member against what a message needs.
func (c *Client) mayByLevel(ctx context.Context, room, me string) error {
	var l levels
	err := c.state(ctx, room, "m.room.power_levels/", &l)
	if is(err, "M_NOT_FOUND") {
		return nil // a room without levels asks for none
	}
	if err != nil {
		return fmt.Errorf("cannot ask who may speak in room %s: %w", room, err)
	}
	if l.may(me, "m.room.message") {
		return nil
	}
	above, err := c.creates(ctx, room, me)
	if err != nil && !is(err, "M_NOT_FOUND") || above {
		return err
	}
	return fmt.Errorf("%s may not speak in room %s, its level is too low: %w", me, room, ErrBarred)
}

// is says whether the homeserver refused with one of these codes.
func is(err error, codes ...string) bool {
	var e *Error
	return errors.As(err, &e) && slices.Contains(codes, e.Code)
}

func (c *Client) state(ctx context.Context, room, what string, out any) error {
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/_matrix/client/v3/rooms/" + url.PathEscape(room) + "/state/" + what, out: out, most: most})
	return err
}

// barred marks a refusal that is the homeserver's own word.
func barred(err error) error {
	if is(err, "M_FORBIDDEN", "M_UNKNOWN_TOKEN", "M_USER_DEACTIVATED", "M_USER_LOCKED", "ORG_MATRIX_EXPIRED_ACCOUNT", "M_NOT_FOUND") {
		return fmt.Errorf("%w: %w", err, ErrBarred)
	}
	return err
}
