package amqp

import (
	"fmt"
	"testing"

	"mayfly/amqp/wire"
	"mayfly/fsm/catalog"
)

func TestChecklist09And10Tune(t *testing.T) {
	r := newRig(t, nil)
	const low = "NOT_ALLOWED - negotiated frame_max = %d is lower than the minimum allowed value (4096)"
	const high = "NOT_ALLOWED - negotiated %s = %s is higher than the maximum allowed value (%d)"
	for _, row := range []struct {
		channels uint16
		frame    uint32
		text     string
	}{
		{2047, 131072, ""}, {1, 4096, ""},
		{2047, 4095, fmt.Sprintf(low, 4095)}, {2047, 1, fmt.Sprintf(low, 1)},
		{2047, 0, fmt.Sprintf(high, "frame_max", "0", 131072)},
		{2047, 131073, fmt.Sprintf(high, "frame_max", "131073", 131072)},
		{0, 131072, fmt.Sprintf(high, "channel_max", "0 (no limit)", 2047)},
		{2048, 131072, fmt.Sprintf(high, "channel_max", "2048", 2047)},
	} {
		t.Run(fmt.Sprintf("%d %d", row.channels, row.frame), func(t *testing.T) {
			p := r.dial()
			p.t = t
			m := p.login()
			if m.ChannelMax != 2047 || m.FrameMax != 131072 || m.Heartbeat != 60 {
				t.Errorf("tune is %d / %d / %d", m.ChannelMax, m.FrameMax, m.Heartbeat)
			}
			p.send(0, &wire.ConnectionTuneOk{ChannelMax: row.channels, FrameMax: row.frame, Heartbeat: 65535})
			if row.text == "" {
				p.send(0, &wire.ConnectionOpen{Vhost: "/"})
				expect[*wire.ConnectionOpenOk](p, 0)
				return
			}
			if m := p.closed(530, row.text); m.ClassID != 10 || m.MethodID != 31 {
				t.Errorf("ids %d/%d, want 10/31", m.ClassID, m.MethodID)
			}
		})
	}
}

func TestTuneWithoutLimits(t *testing.T) {
	r := newRig(t, func(o *Options) { o.ChannelMax, o.FrameMax, o.Heartbeat = 0, 0, 0 })
	p := r.dial()
	if m := p.login(); m.ChannelMax != 0 || m.FrameMax != 0 || m.Heartbeat != 0 {
		t.Errorf("tune is %d / %d / %d", m.ChannelMax, m.FrameMax, m.Heartbeat)
	}
	p.send(0, &wire.ConnectionTuneOk{}, &wire.ConnectionOpen{Vhost: "/"})
	expect[*wire.ConnectionOpenOk](p, 0)
	p.channel(65535)
}

func TestChecklist15ChannelMax(t *testing.T) {
	p := newRig(t, nil).dial()
	p.login()
	p.send(0, &wire.ConnectionTuneOk{ChannelMax: 2, FrameMax: 4096}, &wire.ConnectionOpen{Vhost: "/"})
	expect[*wire.ConnectionOpenOk](p, 0)
	p.channel(7)
	p.channel(1)
	p.send(7, &wire.ChannelClose{ReplyCode: 200})
	expect[*wire.ChannelCloseOk](p, 7)
	p.channel(9)
	p.send(3, &wire.ChannelOpen{})
	p.closed(530, "NOT_ALLOWED - number of channels opened (2) has reached the negotiated channel_max (2)")
}

func TestChecklist113Limits(t *testing.T) {
	open := func(r *rig) *peer {
		p := r.dial()
		p.login()
		p.send(0, &wire.ConnectionTuneOk{ChannelMax: 9, FrameMax: 4096}, &wire.ConnectionOpen{Vhost: "/"})
		return p
	}
	t.Run("node", func(t *testing.T) {
		r := newRig(t, func(o *Options) { o.MaxConnections = 1 })
		first := r.dial().open(0)
		open(r).closed(530, "NOT_ALLOWED - connection refused: node connection limit (1) is reached")
		first.hangUp()
		until(t, "first connection ends", func() bool { return r.srv.Stats().Connections == 0 })
		r.dial().open(0)
	})
	t.Run("vhost", func(t *testing.T) {
		r := newRig(t, nil)
		r.node.must(t, catalog.PutVhostLimits{Vhost: "/", MaxConnections: catalog.NewLimit(0)})
		open(r).closed(530, "NOT_ALLOWED - access to vhost '/' refused for user 'guest': connection limit (0) is reached")
	})
	t.Run("user", func(t *testing.T) {
		r := newRig(t, nil)
		u := putUser(t, "bob", "guest")
		u.MaxConnections, u.MaxChannels = catalog.NewLimit(1), catalog.NewLimit(2)
		r.node.must(t, u, catalog.PutPermission{User: "bob", Vhost: "/"})
		enter := func() *peer {
			p := r.dial()
			answer(p, nil, "PLAIN", plain("bob", "guest"))
			expect[*wire.ConnectionTune](p, 0)
			p.send(0, &wire.ConnectionTuneOk{ChannelMax: 9, FrameMax: 4096}, &wire.ConnectionOpen{Vhost: "/"})
			return p
		}
		first := enter()
		expect[*wire.ConnectionOpenOk](first, 0)
		enter().closed(530, "NOT_ALLOWED - connection refused for user 'bob': user connection limit (1) is reached")
		first.channel(1)
		first.channel(2)
		first.send(3, &wire.ChannelOpen{})
		first.closed(530, "NOT_ALLOWED - number of channels opened for user 'bob' has reached the maximum allowed user limit of (2)")
	})
}
