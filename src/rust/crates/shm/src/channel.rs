//! A control channel between two processes: whole messages, in order, with descriptors; the end of one process is seen
//! by the other. For orders and news, not for requests: those have the link.

use crate::os::socket_pair;
use rustix::io::Errno;
use rustix::net::{
    recvmsg, sendmsg, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

/// Descriptors that one message may carry.
const MOST_FDS: usize = 16;

/// One end. Non-blocking; sockets of it are readable when a message, or the end, is there.
#[derive(Debug)]
pub struct Channel(OwnedFd);

/// What there was to receive.
#[derive(Debug)]
pub enum Received {
    /// a message: its length in bytes, and its descriptors
    Message(usize, Vec<OwnedFd>),
    /// nothing yet
    Nothing,
    /// the other process has ended or closed its end
    End,
}

impl Channel {
    /// Longest message in bytes.
    pub const LONGEST: usize = 60 << 10;

    /// Both ends.
    ///
    /// # Errors
    /// When the system has no descriptors left.
    pub fn pair() -> io::Result<(Channel, Channel)> {
        let (a, b) = socket_pair()?;
        Ok((Channel(a), Channel(b)))
    }

    /// Sends a message. Never blocks.
    ///
    /// # Errors
    /// `WouldBlock` when the other end reads too slowly, others when it has gone.
    pub fn send(&self, message: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
        assert!(message.len() <= Self::LONGEST && fds.len() <= MOST_FDS, "too much for one message");
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FDS))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !fds.is_empty() {
            ancillary.push(SendAncillaryMessage::ScmRights(fds));
        }
        loop {
            match sendmsg(&self.0, &[IoSlice::new(message)], &mut ancillary, SendFlags::NOSIGNAL) {
                Err(Errno::INTR) => {}
                sent => return sent.map(|_| ()).map_err(Into::into),
            }
        }
    }

    /// Receives a message into `message`, which is cleared before. Never blocks.
    ///
    /// # Errors
    /// Those of the system; an error of this kind is as good as the end.
    pub fn receive(&self, message: &mut Vec<u8>) -> io::Result<Received> {
        message.clear();
        message.resize(Self::LONGEST, 0);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FDS))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let received = loop {
            match recvmsg(&self.0, &mut [IoSliceMut::new(message)], &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    message.clear();
                    return Ok(Received::Nothing);
                }
                Err(Errno::CONNRESET) => {
                    message.clear();
                    return Ok(Received::End);
                }
                received => break received?,
            }
        };
        message.truncate(received.bytes);
        let fds = ancillary.drain().filter_map(|m| match m {
            RecvAncillaryMessage::ScmRights(fds) => Some(fds),
            _ => None,
        });
        let fds: Vec<OwnedFd> = fds.flatten().collect();
        // no message is empty
        Ok(if received.bytes == 0 { Received::End } else { Received::Message(received.bytes, fds) })
    }
}

impl From<OwnedFd> for Channel {
    /// The end that another process gave.
    fn from(fd: OwnedFd) -> Self {
        Channel(fd)
    }
}

impl From<Channel> for OwnedFd {
    fn from(channel: Channel) -> Self {
        channel.0
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for Channel {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn messages_descriptors_and_the_end_arrive_in_order() {
        let (a, b) = Channel::pair().unwrap();
        let mut message = Vec::new();
        assert!(matches!(b.receive(&mut message), Ok(Received::Nothing)));
        let (c, d) = Channel::pair().unwrap();
        a.send(b"one", &[c.as_fd(), c.as_fd()]).unwrap();
        a.send(&[7; Channel::LONGEST], &[]).unwrap();
        drop(a);
        let fds = match b.receive(&mut message).unwrap() {
            Received::Message(3, fds) => fds,
            other => panic!("{other:?}"),
        };
        assert_eq!((message.as_slice(), fds.len()), (&b"one"[..], 2));
        Channel::from(fds.into_iter().next().unwrap()).send(b"through", &[]).unwrap();
        let mut through = Vec::new();
        assert!(matches!(d.receive(&mut through), Ok(Received::Message(7, _))));
        assert!(matches!(b.receive(&mut message), Ok(Received::Message(Channel::LONGEST, _))));
        assert!(matches!(b.receive(&mut message), Ok(Received::End)));
        assert!(b.send(b"nobody", &[]).is_err());
    }

    #[test]
    fn sending_never_blocks() {
        let (a, _b) = Channel::pair().unwrap();
        let error = (0..100_000).find_map(|_| a.send(&[0; 1000], &[]).err());
        assert_eq!(error.unwrap().kind(), io::ErrorKind::WouldBlock);
    }
}
